# SPDX-License-Identifier: Apache-2.0
"""numba-cuda: kernels of Python with shared memory, atomics, streams and mapped memory."""
import numpy as np
from numba import cuda, float32

from client import test


@test
def device_is_described():
    d = cuda.get_current_device()
    return d.name, d.compute_capability, d.WARP_SIZE


@test
def tiled_product():
    @cuda.jit
    def k(a, b, c):
        sa, sb = cuda.shared.array((8, 8), float32), cuda.shared.array((8, 8), float32)
        i, j, total = cuda.threadIdx.y, cuda.threadIdx.x, float32(0)
        for t in range(4):
            sa[i, j], sb[i, j] = a[i, t * 8 + j], b[t * 8 + i, j]
            cuda.syncthreads()
            for n in range(8):
                total += sa[i, n] * sb[n, j]
            cuda.syncthreads()
        c[i, j] = total
    a = np.arange(256, dtype=np.float32).reshape(8, 32)
    c = np.zeros((8, 8), np.float32)
    k[1, (8, 8)](a, np.ascontiguousarray(a.T), c)
    return bool((c == a @ a.T).all()), float(c.sum())


@test
def atomics_and_warps():
    @cuda.jit
    def k(out):
        cuda.atomic.add(out, 0, cuda.threadIdx.x)
        cuda.atomic.max(out, 1, cuda.shfl_xor_sync(0xffffffff, cuda.laneid, 1))
    out = np.zeros(2, np.int32)
    k[2, 64](out)
    return out.tolist()


@test
def streams_and_pinned_memory():
    stream, host = cuda.stream(), cuda.pinned_array(100, np.float64)
    host[:] = 3
    there = cuda.to_device(host, stream=stream)
    host[:] = 0
    there.copy_to_host(host, stream=stream)
    stream.synchronize()
    return host.sum()


@test
def reduction():
    return int(cuda.reduce(lambda a, b: a + b)(np.arange(5000, dtype=np.int64)))
