#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints one line for each transform of torch.fft and cupy.fft: its name, and a sum of its result's
bits. If the lines are the same natively and forwarded, the values are the same.

usage: fft_values.py torch|cupy
"""
import hashlib
import sys


def line(name, array):
    a = array.copy()
    print(name, a.dtype, a.shape, hashlib.sha256(a.tobytes()).hexdigest()[:16], flush=True)


def with_torch():
    import torch
    torch.manual_seed(1)
    dev = "cuda"

    def show(name, x):
        x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
        line("torch " + name, x.cpu().numpy())

    def noise(*shape, dtype=torch.float32):
        return torch.randn(*shape, dtype=dtype).to(dev)

    f = torch.fft
    for n in (1, 2, 60, 64, 127, 1000, 1021, 4096, 65536):
        z, x = noise(3, n, dtype=torch.complex64), noise(3, n)
        show(f"fft {n}", f.fft(z))
        show(f"ifft {n}", f.ifft(z))
        show(f"rfft {n}", f.rfft(x))
        show(f"irfft {n}", f.irfft(f.rfft(x), n=n))
    show("fft double", f.fft(noise(5, 360, dtype=torch.complex128)))
    show("rfft double", f.rfft(noise(5, 360, dtype=torch.float64)))
    show("hfft", f.hfft(noise(4, 33, dtype=torch.complex64)))
    show("ihfft", f.ihfft(noise(4, 64)))
    show("fft2", f.fft2(noise(2, 48, 30, dtype=torch.complex64)))
    show("ifft2", f.ifft2(noise(2, 48, 30, dtype=torch.complex64)))
    show("rfft2", f.rfft2(noise(2, 48, 30)))
    show("irfft2", f.irfft2(noise(2, 48, 16, dtype=torch.complex64)))
    show("fftn", f.fftn(noise(8, 9, 10, dtype=torch.complex64)))
    show("fftn of four dimensions", f.fftn(noise(3, 4, 5, 6, dtype=torch.complex64)))
    show("rfftn", f.rfftn(noise(8, 9, 10)))
    show("irfftn", f.irfftn(noise(8, 9, 6, dtype=torch.complex64)))
    show("fft of a column", f.fft(noise(64, 10, dtype=torch.complex64), dim=0))
    show("fft of a part", f.fft(noise(64, 10, dtype=torch.complex64)[::2, 1:7]))
    show("half", f.rfft(noise(4, 256).half()).to(torch.complex64))
    show("complex half", f.fft(noise(4, 256, dtype=torch.complex64).to(torch.complex32)).to(torch.complex64))
    x = noise(16000)
    w = torch.hann_window(400, device=dev)
    s = torch.stft(x, 400, 100, window=w, return_complex=True)
    show("stft", s)
    show("istft", torch.istft(s, 400, 100, window=w, length=16000))
    a = noise(256, 1024, dtype=torch.complex64).requires_grad_()
    f.fft(a).abs().sum().backward()
    show("gradient", a.grad)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = f.fft(a.detach() * 2)
    torch.cuda.current_stream().wait_stream(side)
    show("in a stream", y + 0)
    z = noise(32, 512, dtype=torch.complex64)
    out = torch.empty_like(z)
    f.fft(z)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        out.copy_(f.fft(z))
    z.mul_(3)
    g.replay()
    show("in a graph", out)
    c = noise(1, 1, 4096)
    k = noise(1, 1, 257)
    n = 4096 + 256
    show("convolution", f.irfft(f.rfft(c, n=n) * f.rfft(k, n=n), n=n))
    # Makes many plans, more than PyTorch keeps of a device.
    torch.backends.cuda.cufft_plan_cache.max_size = 16
    total = torch.zeros((), device=dev)
    for n in range(1, 65):
        total += f.fft(noise(n, dtype=torch.complex64)).abs().sum()
    show("64 plans", total.reshape(1))


def with_cupy():
    import cupy
    import cupy.fft
    import cupyx.scipy.fft
    import numpy
    r = numpy.random.RandomState(7)

    def noise(*shape, kind="c"):
        x = r.standard_normal(shape).astype(numpy.float32)
        return cupy.asarray(x if kind == "r" else (x + 1j * r.standard_normal(shape)).astype(numpy.complex64))

    def show(name, x):
        line("cupy " + name, cupy.asnumpy(x))

    f = cupy.fft
    for n in (1, 60, 64, 127, 1021, 4096):
        show(f"fft {n}", f.fft(noise(3, n)))
        show(f"ifft {n}", f.ifft(noise(3, n)))
        show(f"rfft {n}", f.rfft(noise(3, n, kind="r")))
        show(f"irfft {n}", f.irfft(noise(3, n // 2 + 1), n=n))
    show("fft double", f.fft(noise(4, 90).astype(numpy.complex128)))
    show("fft2", f.fft2(noise(2, 24, 30)))
    show("rfft2", f.rfft2(noise(2, 24, 30, kind="r")))
    show("irfft2", f.irfft2(noise(2, 24, 16)))
    show("fftn", f.fftn(noise(6, 7, 8)))
    show("ifftn", f.ifftn(noise(6, 7, 8)))
    show("fft of a column", f.fft(noise(32, 5), axis=0))
    show("dct", cupyx.scipy.fft.dct(noise(4, 64, kind="r")))
    with cupyx.scipy.fft.get_fft_plan(noise(8, 64), axes=1):
        show("with a plan", f.fft(noise(8, 64), axis=1))


if __name__ == "__main__":
    {"torch": with_torch, "cupy": with_cupy}[sys.argv[1]]()
