#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that compute for a while, for suspend_test.sh: each has the same values whenever it is made to
wait in between. A program says "began" when it computes, and its values in its last line.

usage: suspend_values.py FRAMEWORK_NAME (--seconds S | --steps N)
       suspend_values.py --list FRAMEWORK       names of a framework's programs

With --seconds it takes as many steps as fit, and says "steps N" before its values.
"""
import ctypes
import hashlib
import inspect
import math
import os
import subprocess
import sys
import time

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


class Pace:
    """The steps of a program: a number of them, or as many as fit into a time."""

    def __init__(self, steps=0, seconds=0.0):
        self.steps, self.seconds = steps, seconds

    def __iter__(self):
        print("began", flush=True)
        end, k = time.monotonic() + self.seconds, 0
        while k < self.steps or (not self.steps and time.monotonic() < end):
            yield k
            k += 1
        if not self.steps:
            print("steps", k, flush=True)


def sum_of(*things):
    h = hashlib.sha256()
    for t in things:
        h.update(t)
    return h.hexdigest()[:16]


# --- Plain CUDA -----------------------------------------------------------------------------------

COMPUTES = os.path.join(os.environ.get("WH_BUILD", "build"), "tests/tenant/bin/computes")


@program
def plain_threads_graphs_and_managed_memory(pace):
    """tests/tenant/computes.c, whose rounds are the steps. It becomes that program, whose values come last."""
    if pace.steps:
        os.execv(COMPUTES, [COMPUTES, str(pace.steps)])
    took = []
    for n in (200, 2200):
        best = float("inf")
        for _ in range(3):
            start = time.monotonic()
            out = subprocess.run([COMPUTES, str(n)], text=True, stdout=subprocess.PIPE, check=True).stdout
            best = min(best, time.monotonic() - start)
        took.append(best)
    steps = max(2000, int(2000 * pace.seconds / max(took[1] - took[0], 1e-3)))
    out = subprocess.run([COMPUTES, str(steps)], text=True, stdout=subprocess.PIPE, check=True).stdout
    print(f"began\nsteps {steps}\n{out.splitlines()[-1]}", flush=True)


PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry mix(.param .u64 p, .param .u64 q, .param .u32 n)
{
.reg .u64 %a, %b, %o; .reg .u32 %v, %w, %n, %t, %c, %d;
ld.param.u64 %a, [p]; ld.param.u64 %b, [q]; ld.param.u32 %n, [n];
mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %d, %ntid.x;
mad.lo.u32 %t, %c, %d, %t; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o; add.u64 %b, %b, %o;
ld.global.u32 %v, [%a]; ld.global.u32 %w, [%b]; mad.lo.u32 %v, %v, 1664525, %w; add.u32 %v, %v, %n;
st.global.u32 [%a], %v; mad.lo.u32 %w, %w, 22695477, %v; st.global.u32 [%b], %w;
ret;
}
"""


@program
def plain_pinned_memory(pace):
    """A kernel reads and writes pinned memory of the host, which the program does, too."""
    cu = ctypes.CDLL("libcuda.so.1")
    n = 4096

    def must(name, *args):
        code = getattr(cu, name)(*args)
        if code:
            sys.exit(f"{name}: {code}")

    context, module, mix, stream = (ctypes.c_void_p() for _ in range(4))
    on_device, seen, host = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_void_p()
    must("cuInit", 0)
    must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    must("cuCtxSetCurrent", context)
    must("cuModuleLoadData", ctypes.byref(module), PTX)
    must("cuModuleGetFunction", ctypes.byref(mix), module, b"mix")
    must("cuStreamCreate", ctypes.byref(stream), 1)
    must("cuMemAlloc_v2", ctypes.byref(on_device), ctypes.c_size_t(4 * n))
    must("cuMemsetD32_v2", on_device, 7, ctypes.c_size_t(n))
    must("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(4 * n), 2)       # CU_MEMHOSTALLOC_DEVICEMAP
    must("cuMemHostGetDevicePointer_v2", ctypes.byref(seen), host, 0)
    words = (ctypes.c_uint32 * n).from_address(host.value)
    for i in range(n):
        words[i] = i * 2654435761 & 0xffffffff
    number = ctypes.c_uint32()
    params = (ctypes.c_void_p * 3)(*(ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in (on_device, seen, number)))
    for k in pace:
        number.value = k
        must("cuLaunchKernel", mix, n // 128, 1, 1, 128, 1, 1, 0, stream, params, None)
        must("cuStreamSynchronize", stream)
        words[k % n] ^= words[k * 31 % n]
    back = (ctypes.c_uint32 * n)()
    must("cuMemcpyDtoH_v2", back, on_device, ctypes.c_size_t(4 * n))
    print(sum_of(bytes(words), bytes(back)))


# --- PyTorch --------------------------------------------------------------------------------------

def torch_that_repeats():
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    import torch
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.manual_seed(1)
    return torch


def bytes_of(t):
    return t.detach().cpu().contiguous().numpy().tobytes()


def small_gpt(torch):
    """A GPT of 25 million weights, with dropout, so that the generator's state counts."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, d, heads):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.a, self.b, self.drop = nn.LayerNorm(d), nn.LayerNorm(d), nn.Dropout(0.1)
            self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

        def forward(self, x):
            n, t, d = x.shape
            q, k, v = (y.view(n, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.a(x)).split(d, 2))
            w = (q @ k.transpose(2, 3) / (d // self.heads) ** 0.5)
            w = w.masked_fill(torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1), float("-inf")).softmax(-1)
            x = x + self.drop(self.out((w @ v).transpose(1, 2).reshape(n, t, d)))
            return x + self.drop(self.mlp(self.b(x)))

    class Model(nn.Module):
        def __init__(self, words, d, layers):
            super().__init__()
            self.words, self.places = nn.Embedding(words, d), nn.Embedding(256, d)
            self.blocks = nn.Sequential(*(Block(d, 8) for _ in range(layers)))
            self.head = nn.Linear(d, words)

        def forward(self, x):
            return self.head(self.blocks(self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))))

    return Model(4096, 512, 6).cuda()


def small_resnet(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU(),
                                   nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c))

        def forward(self, x):
            return torch.relu(x + self.f(x))

    return nn.Sequential(nn.Conv2d(3, 64, 3, stride=2, padding=1), Block(64), Block(64), nn.Conv2d(64, 128, 3, 2, 1),
                         Block(128), Block(128), nn.Flatten(), nn.Linear(128 * 16 * 16, 100)).cuda()


@program
def torch_training(pace):
    """A GPT and a ResNet train side by side in two streams, on batches that come from pinned memory. Some
    memory is held besides, and is a part of the values."""
    torch = torch_that_repeats()
    F = torch.nn.functional
    gpt, net = small_gpt(torch), small_resnet(torch)
    adam, sgd = torch.optim.AdamW(gpt.parameters(), lr=3e-4), torch.optim.SGD(net.parameters(), 1e-4, 0.9)
    words = torch.randint(0, 4096, (64, 16, 257)).pin_memory()
    images = torch.randn(16, 32, 3, 64, 64).pin_memory()
    classes = torch.randint(0, 100, (16, 32)).pin_memory()
    held = torch.randint(-2 ** 31, 2 ** 31, (int(float(os.environ.get("WH_HELD_GB", "2")) * 2 ** 28),),
                         dtype=torch.int32, device="cuda")
    side, losses = torch.cuda.Stream(), []

    def step(k):
        x = words[k % 64].cuda(non_blocking=True)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            i, c = images[k % 16].cuda(non_blocking=True), classes[k % 16].cuda(non_blocking=True)
            sgd.zero_grad()
            seen = F.cross_entropy(net(i), c)
            seen.backward()
            sgd.step()
        adam.zero_grad()
        loss = F.cross_entropy(gpt(x[:, :-1]).reshape(-1, 4096), x[:, 1:].reshape(-1))
        loss.backward()
        adam.step()
        torch.cuda.current_stream().wait_stream(side)
        losses.append(torch.stack([loss.detach(), seen.detach()]))
        held[k % 1024] ^= k
        if k % 8 == 7:
            torch.cuda.synchronize()

    for k in range(3):
        step(k)
    torch.cuda.synchronize()
    for k in pace:
        step(k)
    weights = sum_of(*(bytes_of(p) for m in (gpt, net) for p in m.state_dict().values()))
    last = losses[-1].tolist()
    if not all(map(math.isfinite, last)):
        sys.exit(f"the training diverges, and its values say nothing: {last}")
    print("losses", sum_of(bytes_of(torch.stack(losses))), f"last {last[0]:.6f} {last[1]:.6f}", "weights", weights,
          "held", sum_of(bytes_of(held.view(1024, -1).sum(1, dtype=torch.int64)), bytes_of(held[:1024])))


@program
def torch_graph_of_training(pace):
    """A step of training is captured once, and replayed."""
    torch = torch_that_repeats()
    m = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 64)).cuda()
    opt = torch.optim.Adam(m.parameters(), 1e-3, capturable=True)
    data, want = torch.randn(32, 256, 512).pin_memory(), torch.randn(256, 64, device="cuda")
    x = data[0].cuda()

    def step():
        loss = (m(x) - want).square().mean()
        loss.backward()
        opt.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            opt.zero_grad(set_to_none=True)
            step()
    torch.cuda.current_stream().wait_stream(side)
    opt.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    sums = torch.zeros((), device="cuda", dtype=torch.float64)
    for k in pace:
        x.copy_(data[k % 32], non_blocking=True)
        graph.replay()
        sums += loss
        if k % 16 == 15:
            torch.cuda.synchronize()
    print("losses", sum_of(bytes_of(sums)), "weights", sum_of(*(bytes_of(p) for p in m.parameters())))


# --- CuPy -----------------------------------------------------------------------------------------

@program
def cupy_cublas_fft_and_pinned_memory(pace):
    import cupy as cp
    import cupyx
    import numpy as np
    rng = np.random.default_rng(3)
    a = cp.asarray(rng.standard_normal((512, 512), dtype=np.float32)) / 30
    x, stream = cp.asarray(rng.standard_normal((512, 512), dtype=np.float32)), cp.cuda.Stream(non_blocking=True)
    host = cupyx.empty_pinned((512, 512), np.float32)
    with stream:
        for k in pace:
            x = cp.tanh(a @ x + cp.fft.ifft(cp.fft.fft(x)).real.astype(np.float32) / 2)
            if k % 16 == 0:
                x.get(out=host, stream=stream)
                stream.synchronize()
                host[k % 512] += 0.125
                x.set(host, stream=stream)
                stream.synchronize()
        stream.synchronize()
    print(sum_of(cp.asnumpy(x).tobytes(), host.tobytes()))


@program
def cupy_managed_memory(pace):
    import cupy as cp
    import numpy as np
    cp.cuda.set_allocator(cp.cuda.MemoryPool(cp.cuda.malloc_managed).malloc)
    n = 1 << 20
    x = cp.arange(n, dtype=cp.uint32)
    host = np.ctypeslib.as_array((ctypes.c_uint32 * n).from_address(x.data.ptr))
    for k in pace:
        x *= cp.uint32(1664525)
        x += cp.uint32(k)
        cp.cuda.Device().synchronize()
        host[k % n] ^= host[k * 31 % n]
    print(sum_of(cp.asnumpy(x).tobytes()))


@program
def cupy_graph(pace):
    import cupy as cp
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        x, y = cp.arange(1 << 16, dtype=cp.uint32), cp.zeros(1 << 16, dtype=cp.uint32)

        def step():
            cp.multiply(x, cp.uint32(22695477), out=x)
            cp.bitwise_xor(y, x, out=y)
            cp.add(x, y, out=x)

        step()
        stream.synchronize()
        stream.begin_capture()
        step()
        graph = stream.end_capture()
        for k in pace:
            graph.launch(stream=stream)
            if k % 16 == 15:
                stream.synchronize()
        stream.synchronize()
        print(sum_of(cp.asnumpy(x).tobytes(), cp.asnumpy(y).tobytes()))


# --- JAX ------------------------------------------------------------------------------------------

@program
def jax_training(pace):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    # Without this XLA chooses its kernels by how long they take, and values differ from run to run.
    os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0 --xla_gpu_deterministic_ops=true"
    import jax
    import jax.numpy as jnp
    import numpy as np
    if jax.devices()[0].platform != "gpu":
        sys.exit(f"JAX has no GPU here but {jax.devices()[0]}")
    rng = np.random.default_rng(5)
    p = [jnp.asarray(rng.standard_normal(s, dtype=np.float32)) / 30 for s in ((512, 1024), (1024, 1024), (1024, 32))]
    data = [(rng.standard_normal((256, 512), dtype=np.float32), rng.standard_normal((256, 32), dtype=np.float32))
            for _ in range(16)]

    def loss(p, x, y):
        return jnp.mean((jnp.tanh(jnp.tanh(x @ p[0]) @ p[1]) @ p[2] - y) ** 2)

    @jax.jit
    def step(p, x, y):
        value, g = jax.value_and_grad(loss)(p, x, y)
        return jax.tree.map(lambda w, d: w - 0.05 * d, p, g), value

    p, value = step(p, *data[0])
    value.block_until_ready()
    sums = np.float64(0)
    for k in pace:
        p, value = step(p, *data[k % 16])
        if k % 8 == 7:
            sums += float(value)
    print("losses", sum_of(sums.tobytes()), "weights", sum_of(*(np.asarray(w).tobytes() for w in p)))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--list":
        return print(*(n for n in PROGRAMS if n.startswith(sys.argv[2] + "_")), sep="\n")
    if len(sys.argv) != 4 or sys.argv[1] not in PROGRAMS or sys.argv[2] not in ("--seconds", "--steps"):
        sys.exit(inspect.cleandoc(__doc__))
    seconds = sys.argv[2] == "--seconds"
    PROGRAMS[sys.argv[1]](Pace(0 if seconds else int(sys.argv[3]), float(sys.argv[3]) if seconds else 0.0))


if __name__ == "__main__":
    main()
