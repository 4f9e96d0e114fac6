# SPDX-License-Identifier: Apache-2.0
"""CuPy: arrays, kernels of three kinds, products, transforms and random numbers. Over softgpu it
needs CUPY_COMPILE_WITH_PTX=1 and CUPY_ACCELERATORS=."""
import cupy as cp
import numpy as np

from client import test


@test
def device_is_described():
    p = cp.cuda.runtime.getDeviceProperties(0)
    return p["name"].decode(), p["major"], p["warpSize"], cp.cuda.runtime.getDeviceCount()


@test
def elementwise_and_reductions():
    x = cp.arange(3000, dtype=np.float32).reshape(1000, 3)
    return float((x * 2 + 1).sum()), float(x.max()), int(x.argmax()), float(cp.cumsum(x[:, 0])[-1])


@test
def raw_kernel():
    k = cp.RawKernel('extern "C" __global__ void k(int *p) { p[threadIdx.x] = threadIdx.x * blockDim.x; }', "k")
    p = cp.zeros(32, np.int32)
    k((1,), (32,), (p,))
    return p.tolist()


@test
def elementwise_kernel():
    k = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "square_of_difference")
    return float(k(cp.arange(10.0), cp.ones(10)).sum())


@test
def products():
    a = cp.arange(64, dtype=np.float32).reshape(8, 8)
    return float((a @ a).sum()), float((a.astype(np.float64) @ a.T).trace())


@test
def transforms():
    return round(float(cp.abs(cp.fft.fft(cp.arange(12.0))).sum()), 6)


@test
def random_numbers():
    return cp.random.RandomState(3).rand(4).round(6).tolist()


@test
def sorted_values():
    return cp.sort(cp.asarray([5, 3, 9, 1]))[::-1].tolist()


@test
def memory_and_streams():
    with cp.cuda.Stream() as s:
        x = cp.full(1000, 2.0)
        s.synchronize()
    return float(x.sum()), cp.cuda.runtime.memGetInfo()[1] > 0
