#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles a step of training with torch.profiler or jax.profiler, and compares two such profiles.

usage: profiler_values.py record MODEL FILE     MODEL is resnet, gpt or jax; what was seen goes into FILE, as JSON
       profiler_values.py compare NATIVE OTHER  prints a line for each promise: its name, and `ok' or why not
"""
import collections
import glob
import json
import os
import sys
import tempfile
import time

STEPS = 5           # of which the medians are compared
MODELS = ("resnet", "gpt", "jax")


# --- Models -----------------------------------------------------------------------

def resnet(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, a, b, stride):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(),
                                      nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b))
            self.skip = nn.Identity() if a == b and stride == 1 else nn.Sequential(
                nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

        def forward(self, x):
            return torch.relu(self.body(x) + self.skip(x))

    layers, last = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width in (64, 128, 256, 512):
        layers += [Block(last, width, 1 if width == 64 else 2), Block(width, width, 1)]
        last = width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return nn.Sequential(*layers).cuda(), torch.randn(32, 3, 224, 224).cuda(), torch.randint(1000, (32,)).cuda()


def gpt(torch):
    nn = torch.nn

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(8192, 768), nn.Embedding(512, 768)
            layer = nn.TransformerEncoderLayer(768, 12, 3072, 0.0, "gelu", batch_first=True, norm_first=True)
            self.body = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
            self.head = nn.Linear(768, 8192)

        def forward(self, x):
            n = x.shape[1]
            mask = nn.Transformer.generate_square_subsequent_mask(n, device=x.device)
            h = self.token(x) + self.place(torch.arange(n, device=x.device))
            return self.head(self.body(h, mask=mask, is_causal=True)).flatten(0, 1)

    return Gpt().cuda(), torch.randint(8192, (8, 512)).cuda(), torch.randint(8192, (8 * 512,)).cuda()


# --- Recording --------------------------------------------------------------------

def median(values):
    return sorted(values)[len(values) // 2]


def timed(wait, step):
    times = []
    for _ in range(4 * STEPS):
        wait()
        begin = time.perf_counter()
        step()
        wait()
        times.append(time.perf_counter() - begin)
    return median(times)


def seen_in(trace):
    """Returns what a chrome trace has of the device: [kind, name, microseconds, correlation], in order of time, and
    the correlation ids of calls."""
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    events = sorted((e for e in trace["traceEvents"] if e.get("cat") in kinds), key=lambda e: e["ts"])
    calls = [e["args"].get("correlation") for e in trace["traceEvents"] if e.get("cat") in ("cuda_runtime", "cuda_driver")]
    return [[e["cat"], e["name"], e["dur"], e["args"].get("correlation")] for e in events], calls


def record_torch(model):
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.manual_seed(1)
    net, x, y = {"resnet": resnet, "gpt": gpt}[model](torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    for _ in range(STEPS):
        step()
    out = {"plain": timed(torch.cuda.synchronize, step), "steps": []}
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.json")
        for _ in range(STEPS + 1):
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
                step()
                torch.cuda.synchronize()
            p.export_chrome_trace(trace)
            with open(trace, encoding="utf-8") as f:
                out["steps"].append(seen_in(json.load(f)))
    del out["steps"][0]     # the first one loads what later ones have
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
        out["profiled"] = timed(torch.cuda.synchronize, step)
    return out


def seen_by_jax(folder):
    """Returns what a trace of JAX's has, as seen_in() does. Streams are lines of the device's plane."""
    import jax.profiler

    events, calls = [], []
    for path in glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True):
        for plane in jax.profiler.ProfileData.from_file(path).planes:
            device = plane.name.startswith("/device:GPU")
            for line in plane.lines:
                if device and not line.name.startswith("Stream #"):
                    continue    # what XLA derives from streams: modules, operations
                for e in line.events:
                    id = dict(e.stats).get("correlation_id")
                    if device:
                        kind = "gpu_memcpy" if e.name.startswith("Memcpy") else \
                            "gpu_memset" if e.name.startswith("Memset") else "kernel"
                        events.append((e.start_ns, [kind, e.name, e.duration_ns / 1000, id]))
                    elif id is not None:
                        calls.append(id)
    return [e for _, e in sorted(events, key=lambda e: e[0])], calls


def record_jax():
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.PRNGKey(1), 8)
    weights = [jax.random.normal(k, (1024, 1024)) * 0.03 for k in keys]
    x = jax.random.normal(keys[0], (512, 1024))

    def loss(weights):
        h = x
        for w in weights:
            h = jax.nn.gelu(h @ w)
        return jnp.mean(jax.nn.logsumexp(h, axis=1) ** 2)

    @jax.jit
    def train(weights):
        return [w - 0.01 * g for w, g in zip(weights, jax.grad(loss)(weights))]

    def wait():
        jax.block_until_ready(weights)

    def step():
        nonlocal weights
        weights = train(weights)

    for _ in range(STEPS):
        step()
    out = {"plain": timed(wait, step), "steps": []}
    for _ in range(STEPS + 1):
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder):
                step()
                wait()
            out["steps"].append(seen_by_jax(folder))
    del out["steps"][0]
    with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
        out["profiled"] = timed(wait, step)
    return out


def record(model, path):
    out = record_jax() if model == "jax" else record_torch(model)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(out, f)


# --- Comparing ----------------------------------------------------------------------

def differing(a, b):
    """Returns what counters do not have in common, shortened."""
    return "; ".join(f"{a[n]} and {b[n]} of {n[1][:60]}" for n in sorted(set(a) | set(b)) if a[n] != b[n])[:600]


def counts(events):
    return collections.Counter((kind, name) for kind, name, _, _ in events)


def order(events):
    return [name for kind, name, _, _ in events if kind == "kernel"]


def durations(steps):
    """Returns the median over steps of what all kernels of a step took."""
    return median([sum(d for kind, _, d, _ in events if kind == "kernel") for events, _ in steps])


def compare(native, other):
    """Yields (promise, why it does not hold or '')."""
    a, b = native["steps"][-1], other["steps"][-1]
    yield "device_work_is_seen", "" if b[0] else "nothing"
    yield "same_work_count_for_count", differing(counts(a[0]), counts(b[0]))
    yield "kernels_in_the_same_order", "" if order(a[0]) == order(b[0]) else "another order"
    lost = [name for _, name, _, id in b[0] if id not in set(b[1])]
    yield "each_has_the_call_that_caused_it", f"{len(lost)} have none: {lost[:3]}" if lost else ""
    ratio = durations(other["steps"]) / max(durations(native["steps"]), 1e-9)
    yield "durations_within_5_percent", "" if 0.95 <= ratio <= 1.05 else f"{ratio:.3f} of native's"
    cost = [x["profiled"] / x["plain"] for x in (native, other)]
    yield "cost_of_the_profiler_at_most_natives_and_5_percent", \
        "" if cost[1] <= cost[0] + 0.05 else f"{cost[1]:.3f}, natively {cost[0]:.3f}"


def main():
    if sys.argv[1:2] == ["record"] and len(sys.argv) == 4 and sys.argv[2] in MODELS:
        record(*sys.argv[2:])
    elif sys.argv[1:2] == ["compare"] and len(sys.argv) == 4:
        files = []
        for path in sys.argv[2:]:
            with open(path, encoding="utf-8") as f:
                files.append(json.load(f))
        for name, why in compare(*files):
            print(name, why or "ok")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
