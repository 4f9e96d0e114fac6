#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Trains a tiny GPT-2 with stock PyTorch twice, on the CPU and on the CUDA device, from the same first
weights. Prints the loss of each step on both and ends with status 0 if they differ by 1e-3 at most.

  python3 train_tiny.py [--steps N] [--attention fused|plain] [--type f32|bf16|f16]

The text is made by a small automaton, so nothing is downloaded. Dropout is left out, because the two
devices draw different random numbers.
"""
import argparse
import sys
import time

import torch
from torch import nn
from torch.nn import functional

WORDS, LENGTH, WIDTH, HEADS, LAYERS, BATCH = 61, 24, 32, 4, 2, 4


class Attention(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.fused = fused
        self.all = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
                   for t in self.all(x).split(width, 2))
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            scores = q @ k.transpose(2, 3) * (width // HEADS) ** -0.5
            y = functional.softmax(scores.masked_fill(later, float("-inf")), 3) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(fused)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class GPT(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block(fused) for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, words, wanted):
        x = self.words(words) + self.places(torch.arange(words.shape[1], device=words.device))
        logits = self.head(self.norm(self.blocks(x)))
        return functional.cross_entropy(logits.view(-1, WORDS), wanted.reshape(-1))


def text(step):
    """BATCH lines of LENGTH + 1 words. Each word follows from the one before and its place."""
    line = [(7 * step + 5 * b) % WORDS for b in range(BATCH)]
    rows = [line]
    for place in range(LENGTH):
        line = [(w * 3 + place + 1) % WORDS for w in line]
        rows.append(line)
    return torch.tensor(rows).t().contiguous()


def train(device, args):
    torch.manual_seed(1)
    model = GPT(args.attention == "fused").to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    kind = {"f32": None, "bf16": torch.bfloat16, "f16": torch.float16}[args.type]
    losses, start = [], time.monotonic()
    for step in range(args.steps):
        words = text(step).to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=kind, enabled=kind is not None):
            loss = model(words[:, :-1], words[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--attention", choices=("fused", "plain"), default="plain")
    parser.add_argument("--type", choices=("f32", "bf16", "f16"), default="f32")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no CUDA device: run this under `wormhole run`")
    torch.backends.cuda.matmul.allow_tf32 = False
    bound = 1e-3 if args.type == "f32" else 3e-2
    cpu, cpu_time = train("cpu", args)
    cuda, cuda_time = train("cuda", args)
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}")
    print("step  loss on the CPU  on the device")
    for i, (a, b) in enumerate(zip(cpu, cuda)):
        print(f"{i:4}  {a:15.6f}  {b:13.6f}")
    worst = max(abs(a - b) for a, b in zip(cpu, cuda))
    good = worst <= bound and cuda[-1] < cuda[0]
    print(f"train_tiny: {'PASS' if good else 'FAIL'}: the largest difference is {worst:.2g}, at most {bound:g} "
          f"is allowed; {cpu_time:.1f} s and {cuda_time:.1f} s")
    sys.exit(not good)


if __name__ == "__main__":
    main()
