#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the requests of an eager training step of a GPT-2 (124M), beside the driver calls of
the same step natively; and of both, those that are waited for.

usage: torch_requests.py LIBDRIVER_CALLS COMMAND...

LIBDRIVER_CALLS is build/bench/libdriver_calls.so. COMMAND forwards a program, for example
`wormhole run --`. Needs torch and transformers, and CUPTI natively.
"""
import ctypes
import glob
import os
import re
import subprocess
import sys

STEPS = 20


def steps(n, count=None):
    import torch

    import torch_turns
    step = torch_turns.gpt2_train(torch)
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    before = (count.driver_calls(), count.driver_waits()) if count else (0, 0)
    for _ in range(n):
        step()
    torch.cuda.synchronize()
    if count:
        print(f"native: {(count.driver_calls() - before[0]) / n:.1f} calls of the driver a step, "
              f"{(count.driver_waits() - before[1]) / n:.1f} that wait", flush=True)


def native(lib):
    count = ctypes.CDLL(os.path.abspath(lib))
    for f in (count.driver_calls, count.driver_waits):
        f.restype = ctypes.c_ulonglong
    found = [f for p in sys.path for f in sorted(glob.glob(p + "/nvidia/*/lib/libcupti.so.13"))]
    status = count.driver_calls_begin((found or ["libcupti.so.13"])[0].encode())
    if status:
        sys.exit(f"error: CUPTI answers {status}; does this user have the right to trace?")
    steps(STEPS, count)


def forwarded(command):
    seen = []
    for n in (STEPS, 2 * STEPS):
        p = subprocess.run([*command, sys.executable, "-B", __file__, "--steps", str(n)], text=True,
                           stderr=subprocess.PIPE, env={**os.environ, "WORMHOLE_STATS": "1"})
        said = re.findall(r"wormhole: info: (\d+) requests went to the worker, (\d+) of them were waited for", p.stderr)
        if not said:
            sys.exit(f"error: the forwarded program ends with {p.returncode}:\n{p.stderr[-2000:]}")
        seen.append([int(x) for x in said[-1]])
    each = [(b - a) / STEPS for a, b in zip(*seen)]
    print(f"forwarded: {each[0]:.1f} requests a step, {each[1]:.1f} of them waited for", flush=True)


def main():
    if sys.argv[1:2] == ["--steps"]:
        steps(int(sys.argv[2]))
    elif sys.argv[1:2] == ["--native"]:
        native(sys.argv[2])
    elif len(sys.argv) < 3:
        sys.exit(__doc__)
    else:
        subprocess.run([sys.executable, "-B", __file__, "--native", sys.argv[1]], check=True)
        forwarded(sys.argv[2:])


if __name__ == "__main__":
    main()
