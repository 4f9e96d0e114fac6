# SPDX-License-Identifier: Apache-2.0
"""tinygrad on its CUDA device, whose kernels NVRTC compiles to PTX (DEV=CUDA:PTX writes PTX itself)."""
from tinygrad import Device, Tensor, dtypes, nn

from client import test


@test
def device_is_cuda():
    return Device.DEFAULT, Device[Device.DEFAULT].arch


@test
def sums_and_products():
    a = Tensor.arange(64 * 48, dtype=dtypes.float32).reshape(64, 48) / 1000
    return (a @ a.T).sum().item(), a.max().item(), a.std(axis=0).tolist()[:2]


@test
def convolution():
    x = Tensor.arange(2 * 3 * 8 * 8, dtype=dtypes.float32).reshape(2, 3, 8, 8) / 384
    return x.conv2d(Tensor.ones(4, 3, 3, 3) / 27).relu().sum().item()


@test
def step_of_training():
    layer = nn.Linear(8, 4)
    layer.weight.assign(Tensor.arange(32, dtype=dtypes.float32).reshape(4, 8) / 32)
    layer.bias.assign(Tensor.zeros(4))
    loss = (layer(Tensor.ones(2, 8)) - 1).square().mean()
    loss.backward()
    return loss.item(), layer.weight.grad.tolist()[0][:3]


@test
def random_integers():
    Tensor.manual_seed(5)
    return Tensor.randint(10, low=0, high=100).tolist()
