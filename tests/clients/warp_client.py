# SPDX-License-Identifier: Apache-2.0
"""warp-lang: kernels that it compiles itself to PTX, arrays, a tape, and a graph."""
import numpy as np
import warp as wp

from client import test

wp.config.quiet = True
wp.config.cuda_output = "ptx"
wp.init()


@wp.kernel
def scaled(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, wp.sqrt(x[wp.tid()]))


@wp.kernel
def turned(q: wp.quat, v: wp.array(dtype=wp.vec3)):
    v[wp.tid()] = wp.quat_rotate(q, v[wp.tid()])


@test
def device_is_described():
    d = wp.get_device("cuda:0")
    return d.name, d.arch, wp.get_cuda_device_count()


@test
def kernel_and_its_gradient():
    x = wp.array(np.arange(100, dtype=np.float32), device="cuda:0", requires_grad=True)
    y = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(scaled, dim=100, inputs=[2.0, x, y], device="cuda:0")
    tape.backward(grads={y: wp.ones_like(y)})
    return float(y.numpy().sum()), float(x.grad.numpy().sum())


@test
def vectors():
    v = wp.array([[1.0, 0.0, 0.0]] * 3, dtype=wp.vec3, device="cuda:0")
    wp.launch(turned, dim=3, inputs=[wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), np.pi / 2), v], device="cuda:0")
    return v.numpy().round(5).tolist()


@test
def graph_replays():
    x, out = wp.full(8, 4.0, dtype=float, device="cuda:0"), wp.zeros(1, dtype=float, device="cuda:0")
    wp.load_module(device="cuda:0")
    with wp.ScopedCapture(device="cuda:0") as capture:
        wp.launch(total, dim=8, inputs=[x, out], device="cuda:0")
    for _ in range(3):
        wp.capture_launch(capture.graph)
    return out.numpy().tolist()
