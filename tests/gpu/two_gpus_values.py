#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what people do with PyTorch on two GPUs, in the same form as torch_values.py. Under torchrun
the tests of several processes run, otherwise those of one process.

usage: two_gpus_values.py [WORD...]
       torchrun --nproc-per-node 2 two_gpus_values.py [WORD...]
"""
import os

import torch
import torch.distributed as dist
import torch.nn as nn

from values import bits_of, main, rough_of, test

RANK = int(os.environ.get("RANK", -1))


def bits(*tensors):
    return bits_of(t.detach().cpu().numpy() for t in tensors)


def rough(*tensors):
    return rough_of(t.detach().double().cpu().numpy() for t in tensors)


def of_one_process(f):
    return test(f) if RANK < 0 else f


def of_two(f):
    return f if RANK < 0 else test(f)


@of_one_process
def both_are_seen():
    return f"{torch.cuda.device_count()} {torch.cuda.can_device_access_peer(0, 1)}"


@of_one_process
def copies_between_peers():
    a = torch.arange(1 << 20, device="cuda:0", dtype=torch.float32)
    b = a.to("cuda:1", non_blocking=True) * 2
    c = torch.empty_like(a)
    c.copy_(b)
    torch.cuda.synchronize(0)
    return bits(b, c)


@of_one_process
def kernels_of_both():
    a, b = torch.randn(256, 256).to("cuda:0"), torch.randn(256, 256).to("cuda:1")
    return bits(a @ a, b @ b)


@of_one_process
def nccl_in_one_process():
    x = [torch.full((1000,), float(i + 1), device=f"cuda:{i}") for i in range(2)]
    torch.cuda.nccl.all_reduce(x)
    y = [torch.full((1000,), float(i + 5), device=f"cuda:{i}") for i in range(2)]
    torch.cuda.nccl.broadcast(y)
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    return bits(*x, *y)


@of_one_process
def data_parallel():
    m = nn.DataParallel(nn.Linear(16, 4).cuda(0), device_ids=[0, 1])
    x = torch.randn(32, 16).cuda(0)
    m(x).square().sum().backward()
    return rough(m.module.weight.grad)


@of_two
def all_reduce_and_gather():
    x = torch.full((100000,), RANK + 1.0, device="cuda")
    dist.all_reduce(x)
    parts = [torch.empty(10, device="cuda") for _ in range(2)]
    dist.all_gather(parts, torch.full((10,), RANK + 3.0, device="cuda"))
    return bits(x, *parts)


@of_two
def broadcast_scatter_and_send():
    x = torch.full((1000,), float(RANK), device="cuda")
    dist.broadcast(x, 1)
    y = torch.empty(500, device="cuda")
    dist.reduce_scatter_tensor(y, torch.arange(1000., device="cuda"))
    if RANK == 0:
        dist.send(y, 1)
    else:
        dist.recv(y, 0)
    return bits(x, y)


@of_two
def data_parallel_training():
    m = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4)).cuda())
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(RANK)
    for _ in range(10):
        x, y = torch.randn(16, 32, generator=g).cuda(), torch.randn(16, 4, generator=g).cuda()
        opt.zero_grad()
        (m(x) - y).square().mean().backward()
        opt.step()
    return rough(*m.parameters())


if __name__ == "__main__":
    if RANK >= 0:
        torch.cuda.set_device(RANK)
        dist.init_process_group("nccl")
    main(lambda: torch.manual_seed(1234))
    if RANK >= 0:
        dist.destroy_process_group()
