#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure the rates of forwarded PyTorch programs by native ones in the same run: two
processes take turns on one GPU, so that disturbances of the machine affect both.

usage: torch_turns.py [--turns N] [--seconds S] [--only NAME] COMMAND...

COMMAND forwards a program, for example `wormhole run --`. Prints for each program the
ratio of the rates of each pair of turns: its median, and the interval that contains it in
95 of 100 resamples. Needs torch; and torchvision and transformers for their models.
"""
import argparse
import random
import statistics
import subprocess
import sys
import time

PROGRAMS = ["resnet18", "gpt2_train", "gpt2_generate", "mlp"]


# --- The program of a turn ---------------------------------------------------------

def resnet18(torch, batch=64):
    from torchvision.models import resnet18 as model
    m = model().cuda()
    opt = torch.optim.SGD(m.parameters(), lr=0.01)
    x, y = torch.randn(batch, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (batch,), device="cuda")

    def step():
        opt.zero_grad()
        torch.nn.functional.cross_entropy(m(x), y).backward()
        opt.step()
    return step


def gpt2(torch):
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(1)
    return GPT2LMHeadModel(GPT2Config()).cuda()


def gpt2_train(torch):
    m = gpt2(torch)
    opt = torch.optim.AdamW(m.parameters(), lr=1e-4)
    x = torch.randint(0, 50257, (4, 256), device="cuda")

    def step():
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = m(x, labels=x).loss
        loss.backward()
        opt.step()
    return step


def gpt2_generate(torch):
    m = gpt2(torch).eval()
    x = torch.randint(0, 50257, (1, 16), device="cuda")
    mask = torch.ones_like(x)

    def step():
        m.generate(x, attention_mask=mask, max_new_tokens=16, min_new_tokens=16, do_sample=False, pad_token_id=0)
    return step


def mlp(torch):
    m = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    opt = torch.optim.SGD(m.parameters(), lr=0.01)
    x, y = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")

    def step():
        opt.zero_grad()
        torch.nn.functional.cross_entropy(m(x), y).backward()
        opt.step()
    return step


def child(name):
    """Read numbers of steps, one per line, and answer with the seconds that they took."""
    import torch
    step = globals()[name](torch)
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            step()
        torch.cuda.synchronize()
        print(time.perf_counter() - start, flush=True)


# --- Turns ---------------------------------------------------------------------------

class Program:
    def __init__(self, command, name):
        self.p = subprocess.Popen([*command, sys.executable, __file__, "--child", name], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.alive = self.p.stdout.readline() == "ready\n"

    def turn(self, steps):
        self.p.stdin.write(f"{steps}\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def interval(ratios, n=2000):
    medians = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(n))
    return medians[n // 40], medians[-n // 40]


def compare(name, command, turns, seconds):
    native, forwarded = Program([], name), Program(command, name)
    if not (native.alive and forwarded.alive):
        print(f"{name}: does not start: native {native.alive}, forwarded {forwarded.alive}", flush=True)
    else:
        steps = max(1, round(seconds / (native.turn(5) / 5)))
        forwarded.turn(steps)
        ratios, rates = [], []
        for i in range(turns):
            pair = [native, forwarded] if i % 2 else [forwarded, native]
            t = {p: p.turn(steps) for p in pair}
            ratios.append(t[native] / t[forwarded])
            rates.append((steps / t[native], steps / t[forwarded]))
        low, high = interval(ratios)
        rate = [statistics.median(r) for r in zip(*rates)]
        print(f"{name}: {statistics.median(ratios):.3f} of native, 95 %: {low:.3f} to {high:.3f} "
              f"({turns} pairs of turns of {steps} steps; medians {rate[0]:.1f} and {rate[1]:.1f} steps/s)",
              flush=True)
    for p in (native, forwarded):
        p.end()


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2])
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--turns", type=int, default=40)
    p.add_argument("--seconds", type=float, default=0.25, help="of a turn, about")
    p.add_argument("--only", choices=PROGRAMS)
    p.add_argument("command", nargs=argparse.REMAINDER)
    opt = p.parse_args()
    random.seed(1)
    for name in [opt.only] if opt.only else PROGRAMS:
        compare(name, opt.command, opt.turns, opt.seconds)


if __name__ == "__main__":
    main()
