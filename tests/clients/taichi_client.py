# SPDX-License-Identifier: Apache-2.0
"""Taichi on the arch "cuda": fields, loops, atomics, a reduction, and an array of NumPy."""
import numpy as np
import taichi as ti

from client import test


@test
def starts_on_cuda():
    ti.init(arch=ti.cuda, offline_cache=False, log_level=ti.WARN)
    return str(ti.lang.impl.current_cfg().arch)


x = ti.field(ti.f32, 1000)


@test
def loops_over_a_field():
    @ti.kernel
    def fill():
        for i in x:
            x[i] = i * 0.5
    fill()
    return float(x.to_numpy().sum())


@test
def reduction_with_atomics():
    @ti.kernel
    def total() -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i] * 2
        return s
    return total()


@test
def array_of_numpy():
    @ti.kernel
    def double(a: ti.types.ndarray()):
        for i in range(a.shape[0]):
            a[i] = a[i] * 2
    a = np.arange(10, dtype=np.int32)
    double(a)
    return a.tolist()


@test
def matrices():
    @ti.kernel
    def product() -> ti.math.vec2:
        return ti.Matrix([[0.0, -1.0], [1.0, 0.0]]) @ ti.Vector([3.0, 4.0])
    return product().to_list()
