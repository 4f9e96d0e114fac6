#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what people do with CuPy, in the same form as torch_values.py.

usage: cupy_values.py [WORD...] only tests with a word in their names
"""
import cupy as cp
import cupyx
import cupyx.scipy.linalg
import cupyx.scipy.sparse as sparse
import cupyx.scipy.sparse.linalg
import numpy as np

from values import bits_of, main, rough_of, test


def rnd(*shape, dtype=np.float32):
    return cp.asarray(np.random.standard_normal(shape).astype(dtype))


def mostly_zero(*shape, **options):
    return rnd(*shape, **options) * cp.asarray(np.random.random_sample(shape) < 0.1)


def bits(*arrays):
    return bits_of(cp.asnumpy(a) for a in arrays)


def rough(*arrays):
    return rough_of(cp.asnumpy(a) for a in arrays)


@test
def elementwise_and_reductions():
    x = rnd(1000, 30)
    return bits(cp.exp(x) + x * 2, x.max(axis=0), cp.where(x > 0, x, 0), x.argmax())


@test
def matmul_and_einsum():
    return bits(rnd(64, 48) @ rnd(48, 32), rnd(4, 8, 9) @ rnd(4, 9, 7),
                cp.einsum("ij,jk->ik", rnd(20, 30), rnd(30, 10)), rnd(50, dtype=np.float64).dot(rnd(50, dtype=np.float64)))


@test
def sort_and_search():
    x = rnd(20000)
    return bits(cp.sort(x), cp.argsort(x), cp.unique(cp.asarray(np.random.randint(0, 50, 2000))),
                cp.partition(x, 100)[:100].max(), cp.searchsorted(cp.sort(x), x[:50]), cp.cumsum(cp.ones(5000)))


@test
def fft_of_all_kinds():
    z = rnd(8, 120) + 1j * rnd(8, 120)
    return bits(cp.fft.fft(z), cp.fft.ifft2(z), cp.fft.rfft(rnd(5, 100)), cp.fft.fftn(z))


@test
def solve_and_decompose():
    a = rnd(32, 32, dtype=np.float64)
    p = a @ a.T + 32 * cp.eye(32)
    return bits(cp.linalg.solve(p, rnd(32, 3, dtype=np.float64)), cp.linalg.cholesky(p), cp.linalg.inv(p),
                cp.linalg.eigvalsh(p), cp.abs(cp.linalg.qr(a)[1]), cp.linalg.svd(a, compute_uv=False))


@test
def lu_of_scipy():
    a = rnd(24, 24, dtype=np.float64) + 24 * cp.eye(24)
    lu = cupyx.scipy.linalg.lu_factor(a)
    return bits(lu[0], cupyx.scipy.linalg.lu_solve(lu, rnd(24, dtype=np.float64)))


@test
def sparse_products():
    a = sparse.csr_matrix(mostly_zero(100, 80))
    return rough(a @ rnd(80), a @ rnd(80, 4), (a @ a.T).todense(), a.tocsc().tocoo().data)


@test
def sparse_solvers():
    a = mostly_zero(60, 60, dtype=np.float64)
    a = sparse.csr_matrix(a + a.T + 20 * cp.eye(60))
    b = rnd(60, dtype=np.float64)
    return rough(sparse.linalg.spsolve(a, b), sparse.linalg.cg(a, b)[0])


@test
def random_numbers():
    rng = cp.random.RandomState(5)
    g = cp.random.default_rng(7)
    return bits(rng.rand(1000), rng.standard_normal(1000), g.integers(0, 100, 500), g.standard_normal(100),
                cp.random.RandomState(3).permutation(50))


@test
def kernels_of_ones_own():
    k = cp.RawKernel('extern "C" __global__ void f(const float *a, float *b, int n)'
                     '{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = a[i] * 3 + i; }', "f")
    a = rnd(1000)
    b = cp.empty_like(a)
    k((4,), (256,), (a, b, 1000))
    e = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared")
    return bits(b, e(a, b))


@test
def streams_and_pinned_memory():
    s = cp.cuda.Stream(non_blocking=True)
    h = cupyx.empty_pinned(10000, np.float32)
    with s:
        x = rnd(10000) * 2
        x.get(out=h, stream=s)
    s.synchronize()
    return bits(h) + (" done" if s.done else " not done")


@test
def graphs_and_memory_pools():
    s = cp.cuda.Stream(non_blocking=True)
    a = rnd(1000)
    with s:
        b = a * 2
        s.begin_capture()
        cp.multiply(a, 3, out=b)
        g = s.end_capture()
        g.launch()
    s.synchronize()
    cp.get_default_memory_pool().free_all_blocks()
    return bits(b)


if __name__ == "__main__":
    main(lambda: np.random.seed(1234))
