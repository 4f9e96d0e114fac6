#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what people do with PyTorch, and prints a line for each: its name, and its values' bits (for
values that atomics add in any order, sums to four digits). Equal lines natively and forwarded
are equal values. A test that fails says so in its line.

usage: torch_values.py [WORD...]        only tests with a word in their names
"""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

from values import bits_of, main, rough_of, test

try:
    import triton
    import triton.language as tl

    @triton.jit
    def add_kernel(a, b, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(a + i, i < n) + tl.load(b + i, i < n), i < n)
except ImportError:
    pass                # its test reports the failure

DEV = "cuda"


def rnd(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=torch.float64).to(dtype).to(DEV)


def numpy_of(t):
    t = t.detach().cpu()
    t = torch.view_as_real(t) if t.is_complex() else t
    return t.contiguous().flatten().view(torch.uint8).numpy()


def bits(*tensors):
    return bits_of(numpy_of(t) for t in tensors)


def rough(*tensors):
    return rough_of(t.detach().double().cpu().numpy() for t in tensors)


def positive(n, dtype=torch.float32):
    a = rnd(n, n, dtype=dtype)
    return a @ a.mT + n * torch.eye(n, device=DEV, dtype=dtype)


# --- Linear algebra of dense matrices ---------------------------------------------

@test
def matmul_of_all_types():
    return bits(*[rnd(64, 96, dtype=t) @ rnd(96, 32, dtype=t) for t in
                  (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64)])


@test
def batched_matmul():
    return bits(torch.bmm(rnd(8, 33, 65), rnd(8, 65, 17)), rnd(4, 8, 16) @ rnd(16, 8))


@test
def linear_with_bias():
    m = nn.Linear(128, 64).to(DEV)
    x = rnd(32, 128).requires_grad_()
    m(x).square().sum().backward()
    return bits(m.weight.grad, m.bias.grad, x.grad)


@test
def addmm_and_activation():
    b, x, w = rnd(48), rnd(16, 64), rnd(64, 48)
    return bits(torch.addmm(b, x, w), torch.ops.aten._addmm_activation(b, x, w, use_gelu=True))


@test
def addmm_half_and_tf32():
    torch.backends.cuda.matmul.allow_tf32 = True
    a = rnd(256, 256) @ rnd(256, 256)
    torch.backends.cuda.matmul.allow_tf32 = False
    h = torch.addmm(rnd(64, dtype=torch.half), rnd(32, 128, dtype=torch.half), rnd(128, 64, dtype=torch.half))
    return bits(a, h)


@test
def int8_matmul():
    a = torch.randint(-128, 127, (64, 64), dtype=torch.int8, device=DEV)
    b = torch.randint(-128, 127, (64, 64), dtype=torch.int8, device=DEV)
    return bits(torch._int_mm(a, b))


@test
def scaled_fp8_matmul():
    a, b = rnd(64, 64).to(torch.float8_e4m3fn), rnd(64, 64).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device=DEV)
    return bits(torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16))


@test
def vectors():
    a, b = rnd(1000), rnd(1000)
    return bits(a.dot(b), torch.outer(a[:50], b[:60]), rnd(64, 1000) @ a, torch.addr(rnd(50, 60), a[:50], b[:60]))


@test
def einsum_and_tensordot():
    return bits(torch.einsum("bij,bjk->bik", rnd(4, 8, 9), rnd(4, 9, 7)),
                torch.tensordot(rnd(3, 4, 5), rnd(4, 5, 6), dims=2))


# --- torch.linalg --------------------------------------------------------------------

@test
def cholesky_and_solve():
    a = positive(64)
    c = torch.linalg.cholesky(a)
    return bits(c, torch.cholesky_solve(rnd(64, 3), c), torch.linalg.solve(a, rnd(64, 5)))


@test
def lu_and_inverse():
    a = positive(48, torch.float64)
    lu, pivots = torch.linalg.lu_factor(a)
    return bits(lu, pivots, torch.linalg.inv(a), torch.linalg.det(rnd(6, 5, 5)))


@test
def qr_and_lstsq():
    q, r = torch.linalg.qr(rnd(50, 20))
    return bits(q.abs(), r.abs(), torch.linalg.lstsq(rnd(40, 10), rnd(40, 2)).solution)


@test
def eigh():
    values, vectors = torch.linalg.eigh(positive(40))
    more = torch.linalg.eigvalsh(positive(33, torch.float64))
    return bits(values, vectors.abs(), more)


@test
def eig():
    a = rnd(24, 24)
    return rough(torch.linalg.eigvals(a).abs())


@test
def svd():
    u, s, v = torch.linalg.svd(rnd(48, 24), full_matrices=False)
    drivers = [torch.linalg.svdvals(rnd(32, 16), driver=d) for d in ("gesvd", "gesvdj", "gesvda")]
    return bits(s, u.abs(), v.abs(), *drivers)


@test
def batched_linalg():
    a = torch.stack([positive(16) for _ in range(8)])
    return bits(torch.linalg.cholesky(a), torch.linalg.inv(a), torch.linalg.eigvalsh(a),
                torch.linalg.solve_triangular(a.tril(), rnd(8, 16, 2), upper=False))


@test
def matrix_functions():
    a = rnd(16, 16) / 8
    return bits(torch.linalg.matrix_exp(a), torch.linalg.matrix_power(a, 5), torch.linalg.pinv(rnd(12, 8)))


# --- Convolutions, norms, recurrence -------------------------------------------------

@test
def conv2d_forward_and_backward():
    m = nn.Conv2d(8, 16, 3, padding=1).to(DEV)
    x = rnd(4, 8, 24, 24).requires_grad_()
    with torch.backends.cudnn.flags(deterministic=True):
        m(x).square().sum().backward()
    return bits(m.weight.grad, m.bias.grad, x.grad)


@test
def conv1d_and_conv3d():
    return bits(F.conv1d(rnd(2, 4, 100), rnd(8, 4, 5)), F.conv3d(rnd(1, 2, 8, 8, 8), rnd(4, 2, 3, 3, 3)))


@test
def transposed_and_grouped_conv():
    return bits(F.conv_transpose2d(rnd(2, 8, 10, 10), rnd(8, 4, 3, 3), stride=2),
                F.conv2d(rnd(2, 8, 16, 16), rnd(8, 1, 3, 3), groups=8))


@test
def conv_half_channels_last():
    x = rnd(2, 16, 20, 20, dtype=torch.half).to(memory_format=torch.channels_last)
    return bits(F.conv2d(x, rnd(32, 16, 3, 3, dtype=torch.half).to(memory_format=torch.channels_last)))


@test
def batch_norm_and_pooling():
    m = nn.BatchNorm2d(8).to(DEV)
    x = rnd(4, 8, 16, 16)
    return bits(m(x), m.running_mean, F.max_pool2d(x, 2), F.avg_pool2d(x, 3), F.adaptive_avg_pool2d(x, 1))


@test
def layer_and_group_norm():
    return bits(F.layer_norm(rnd(8, 64), (64,)), F.group_norm(rnd(2, 8, 10), 4), F.rms_norm(rnd(8, 64), (64,)))


@test
def lstm():
    m = nn.LSTM(16, 32, num_layers=2).to(DEV)
    y, (h, c) = m(rnd(10, 4, 16))
    return bits(y, h, c)


@test
def gru_backward():
    m = nn.GRU(16, 32).to(DEV)
    y, _ = m(rnd(10, 4, 16))
    y.sum().backward()
    return rough(*[p.grad for p in m.parameters()])


# --- Attention -------------------------------------------------------------------------

def attention(backend, dtype, causal=False):
    q, k, v = (rnd(2, 4, 64, 32, dtype=dtype) for _ in range(3))
    with torch.nn.attention.sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


@test
def attention_flash():
    return bits(attention(torch.nn.attention.SDPBackend.FLASH_ATTENTION, torch.half, True))


@test
def attention_efficient():
    return bits(attention(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION, torch.float32))


@test
def attention_math():
    return bits(attention(torch.nn.attention.SDPBackend.MATH, torch.float32))


@test
def attention_cudnn():
    return bits(attention(torch.nn.attention.SDPBackend.CUDNN_ATTENTION, torch.bfloat16))


@test
def multihead_attention():
    m = nn.MultiheadAttention(64, 8, batch_first=True).to(DEV)
    x = rnd(2, 20, 64)
    return bits(*m(x, x, x))


@test
def transformer_layer():
    m = nn.TransformerEncoderLayer(64, 4, 128, dropout=0, batch_first=True).to(DEV)
    x = rnd(2, 16, 64).requires_grad_()
    m(x).square().mean().backward()
    return rough(x.grad.abs(), m.linear1.weight.grad.abs())


# --- FFT and sparse ------------------------------------------------------------------

@test
def fft():
    z = rnd(4, 240, dtype=torch.complex64)
    return bits(torch.fft.fft(z), torch.fft.irfft2(torch.fft.rfft2(rnd(3, 20, 30))),
                torch.stft(rnd(4000), 256, return_complex=True, window=torch.hann_window(256, device=DEV)))


def sparse(n=64, m=48, layout=torch.sparse_csr):
    a = rnd(n, m)
    a[a.abs() < 1] = 0
    return a.to_sparse(layout=layout)


@test
def sparse_csr_matmul():
    return bits(sparse() @ rnd(48, 8), sparse() @ rnd(48), torch.addmm(rnd(64, 8), sparse(), rnd(48, 8)))


@test
def sparse_coo_matmul():
    a = sparse(layout=torch.sparse_coo)
    return rough(torch.sparse.mm(a, rnd(48, 8)).abs(), (a + a).to_dense().abs())


@test
def sparse_by_sparse():
    return rough((sparse(32, 32) @ sparse(32, 32)).to_dense().abs())


@test
def sparse_triangular_solve():
    a = (torch.eye(32, device=DEV) * 4 + rnd(32, 32).tril(-1)).to_sparse_csr()
    return bits(torch.triangular_solve(rnd(32, 3), a, upper=False).solution)


@test
def sampled_addmm():
    return bits(torch.sparse.sampled_addmm(sparse(32, 32), rnd(32, 16), rnd(16, 32)).values())


@test
def semi_structured():
    m = torch.tensor([0, 0, 1, 1], device=DEV).tile((128, 32)).half()
    s = torch.sparse.to_sparse_semi_structured(m * rnd(128, 128, dtype=torch.half))
    return bits(torch.mm(s, rnd(128, 128, dtype=torch.half)))


# --- Elementwise, sorting, random numbers ---------------------------------------------

@test
def sorting():
    x = rnd(10000)
    return bits(x.sort().values, x.argsort(stable=True), x.topk(50).values,
                torch.unique(torch.randint(0, 99, (5000,), device=DEV)),
                x.cumsum(0), x.median())


@test
def indexing_and_scatter():
    x, i = rnd(1000, 8), torch.randint(0, 1000, (500,), device=DEV)
    return bits(x[i], x[x > 0]) + " " + rough(torch.zeros(1000, 8, device=DEV).index_add_(0, i, rnd(500, 8)).abs())


@test
def random_numbers():
    torch.cuda.manual_seed(7)
    g = torch.Generator(DEV).manual_seed(3)
    return bits(torch.rand(1000, device=DEV), torch.randn(1000, device=DEV, generator=g),
                torch.randperm(1000, device=DEV), F.dropout(torch.ones(1000, device=DEV)))


@test
def special_functions():
    x = rnd(1000).abs() + 0.1
    return bits(torch.lgamma(x), torch.special.i0(x), torch.erfinv(x.clamp(max=0.9)), torch.polygamma(1, x))


# --- Training, AMP, compile, graphs, streams, processes ---------------------------------

def train(steps=5, amp=None, scaler=False):
    torch.manual_seed(5)
    m = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 10)).to(DEV)
    opt = torch.optim.AdamW(m.parameters(), lr=1e-2, fused=True)
    s = torch.amp.GradScaler(DEV, enabled=scaler)
    losses = []
    for _ in range(steps):
        x, y = rnd(16, 32), torch.randint(0, 10, (16,), device=DEV)
        with torch.autocast(DEV, dtype=amp, enabled=amp is not None):
            loss = F.cross_entropy(m(x), y)
        opt.zero_grad()
        s.scale(loss).backward()
        s.step(opt)
        s.update()
        losses.append(loss)
    return torch.stack(losses)


@test
def training_with_adam():
    return bits(train())


@test
def training_with_amp_bfloat16():
    return bits(train(amp=torch.bfloat16))


@test
def training_with_amp_half_and_scaler():
    return bits(train(amp=torch.half, scaler=True))


@test
def cuda_graph():
    x = torch.zeros(64, 64, device=DEV)
    w = rnd(64, 64)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        y = (x @ w).relu()
    torch.cuda.current_stream().wait_stream(side)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = (x @ w).relu()
    out = []
    for _ in range(3):
        x.copy_(rnd(64, 64))
        g.replay()
        out.append(y.clone())
    return bits(*out)


@test
def compiled_training():
    torch.manual_seed(5)
    m = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4)).to(DEV)
    c = torch.compile(m)
    x = rnd(8, 32)
    c(x).square().mean().backward()
    return rough(*[p.grad.abs() for p in m.parameters()])


@test
def streams_and_events():
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    x = rnd(512, 512)
    torch.cuda.synchronize()
    with torch.cuda.stream(a):
        y = x @ x
        e = a.record_event()
    with torch.cuda.stream(b):
        b.wait_event(e)
        z = y + 1
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    x @ x
    end.record()
    end.synchronize()
    return bits(z) + (" timed" if start.elapsed_time(end) > 0 else " not timed")


@test
def pinned_and_async_copies():
    x = torch.randn(1 << 20).pin_memory()
    y = x.to(DEV, non_blocking=True)
    z = torch.empty_like(x).pin_memory()
    z.copy_(y * 2, non_blocking=True)
    torch.cuda.synchronize()
    e = torch.empty(0).to(DEV, non_blocking=True)
    return bits(z, e)


@test
def data_loader_with_workers():
    data = torch.utils.data.TensorDataset(torch.arange(256.).reshape(64, 4))
    loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, pin_memory=True)
    return bits(torch.stack([b[0].to(DEV).sum() for b in loader]))


@test
def memory_between_processes():
    if os.environ.get("WH_CHILD"):
        return "child"
    ctx = torch.multiprocessing.get_context("spawn")
    q, back = ctx.Queue(), ctx.Queue()
    p = ctx.Process(target=double, args=(q, back))
    p.start()
    x = torch.arange(1000., device=DEV)
    q.put(x)
    back.get(timeout=60)
    p.join()
    return bits(x)


def double(q, back):
    x = q.get(timeout=60)
    x.mul_(2)
    torch.cuda.synchronize()
    del x
    back.put(1)


@test
def checkpoint_is_loaded():
    m = nn.Linear(8, 8).to(DEV)
    with tempfile.TemporaryDirectory() as d:
        torch.save(m.state_dict(), d + "/m")
        n = nn.Linear(8, 8)
        n.load_state_dict(torch.load(d + "/m", map_location=DEV))
    return bits(n.weight.to(DEV) - m.weight)


@test
def out_of_memory_is_an_exception():
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device=DEV)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return bits(torch.ones(4, device=DEV) * 2)
    return "no exception"


@test
def profiler_of_the_cpu():
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU]) as p:
        rnd(8, 8) @ rnd(8, 8)
    torch.cuda.profiler.start()
    torch.cuda.profiler.stop()
    return "seen" if any("mm" in e.key for e in p.key_averages()) else "not seen"


@test
def nccl_of_one_process():
    import torch.distributed as dist
    with tempfile.TemporaryDirectory() as d:
        dist.init_process_group("nccl", init_method=f"file://{d}/f", rank=0, world_size=1)
        x = rnd(1000)
        y = x.clone()
        dist.all_reduce(x)
        dist.broadcast(x, 0)
        torch.cuda.synchronize()
        dist.destroy_process_group()
    return bits(x - y)


@test
def triton_kernel():
    a, b = rnd(1000), rnd(1000)
    out = torch.empty_like(a)
    add_kernel[(4,)](a, b, out, 1000, BLOCK=256)
    return bits(out)


if __name__ == "__main__":
    torch.backends.cudnn.benchmark = False
    main(lambda: torch.manual_seed(1234))
