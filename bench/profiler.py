#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what torch.profiler saw natively and forwarded, and prints both beside each other.

    bench/profiler.py FOLDER OUT.svg

FOLDER has native_MODEL.json and run_MODEL.json of tests/gpu/profiler_values.py (`record MODEL FILE`), natively and
under `wormhole run`. A point is a kernel: the median of its times natively and forwarded. The bars are a step's time
without the profiler and with it.
"""
import glob
import json
import os
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
from draw import draw  # noqa: E402

WAYS = {"native": "native", "run": "shm"}  # of the files, and what they are called here
KINDS = ("kernel", "gpu_memcpy", "gpu_memset")


def kernels(seen):
    """Return the name of each kernel of a step with the median of its times, in the order of the device."""
    steps = [[e for e in events if e[0] == "kernel"] for events, _ in seen["steps"]]
    return [(of[0][1], statistics.median(e[2] for e in of)) for of in zip(*steps)]


def by_name(of):
    """Return {name of a kernel: the median of its times}."""
    times = {}
    for name, t in of:
        times.setdefault(name, []).append(t)
    return {name: statistics.median(ts) for name, ts in times.items()}


def read(folder):
    """Return {model: {way: what was recorded}}."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "native_*.json"))):
        model = os.path.basename(path)[len("native_"):-len(".json")]
        for way in WAYS:
            with open(os.path.join(folder, f"{way}_{model}.json"), encoding="utf-8") as f:
                found.setdefault(model, {})[way] = json.load(f)
    return found


def table(models):
    yield "| a step | kernels, copies, fills | order | kernels' time, shm / native | ms: native | profiled | ms: shm | profiled |"
    yield "|---|---|---|---:|---:|---:|---:|---:|"
    for model, by in models.items():
        of = [kernels(by[w]) for w in WAYS]
        counts = [[sum(e[0] == kind for e in by[w]["steps"][-1][0]) for kind in KINDS] for w in WAYS]
        same = ", ".join(map(str, counts[0])) if counts[0] == counts[1] else f"{counts[0]} and {counts[1]}"
        order = "equal" if [n for n, _ in of[0]] == [n for n, _ in of[1]] else "differs"
        quotient = sum(t for _, t in of[1]) / sum(t for _, t in of[0])
        times = " | ".join(f"{1e3 * by[w][x]:.2f}" for w in WAYS for x in ("plain", "profiled"))
        yield f"| {model} | {same} | {order} | {quotient:.3f} | {times} |"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    models = read(sys.argv[1])
    if not models:
        sys.exit(f"error: {sys.argv[1]} has no native_MODEL.json: record one by tests/gpu/profiler_values.py")
    print("\n".join(table(models)))
    with tempfile.TemporaryDirectory() as folder:
        for model, by in models.items():
            with open(os.path.join(folder, model + ".dat"), "w", encoding="utf-8") as f:
                native, ours = (by_name(kernels(by[w])) for w in WAYS)
                f.writelines(f"{native[n]} {ours[n]}\n" for n in native if n in ours)
        with open(os.path.join(folder, "steps.dat"), "w", encoding="utf-8") as f:
            for model, by in models.items():
                for way, name in WAYS.items():
                    f.write(f'"{model}, {name}" {1e3 * by[way]["plain"]} {1e3 * by[way]["profiled"]}\n')
        draw(os.path.join(HERE, "profiler.gp"), os.path.abspath(sys.argv[2]), folder, models=" ".join(models),
             plots=os.path.join(HERE, "plots"))


main()
