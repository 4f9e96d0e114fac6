#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure what programs of PyTorch get of one GPU under shares of time with and without ceilings, beside
the same programs natively in the same run.

usage: torch_share.py [--seconds S] [--batch N] [--out DIR] WORMHOLE

WORMHOLE is the command, for example build/host/wormhole; a server of its own is started for the run.
First four programs train a ResNet-18 each; then one answers a request every 20 ms beside another that
trains. Prints one line for each program and run: steps a second and their part of what the program
makes alone, and that part in windows of 1 s and of 100 ms (least, median, most); or the latency of
requests. DIR gets windows.csv and latency.csv, to draw. Needs torch and torchvision, and a GPU; about
four minutes. WH_BACKEND: another driver library.
"""
import argparse
import csv
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SHARES = (40, 30, 20, 10)
PERIOD_S = 0.02
WARM_S = 1.0


# --- The programs -------------------------------------------------------------------

def training(torch):
    """Return a function that trains for so many seconds and returns when each step was done."""
    import torch_turns
    step = torch_turns.resnet18(torch, int(os.environ["WH_BATCH"]))

    def run(seconds):
        base, done = torch.cuda.Event(enable_timing=True), []
        torch.cuda.synchronize()
        base.record()
        torch.cuda.synchronize()
        start = time.time()
        while time.time() < start + seconds:
            step()
            done.append(torch.cuda.Event(enable_timing=True))
            done[-1].record()
        torch.cuda.synchronize()
        return [start + base.elapsed_time(e) / 1e3 for e in done]
    return run


def serving(torch):
    """Return a function that answers requests and returns when each began, and how long it took."""
    from torchvision.models import resnet18 as model
    m = model().cuda().eval()
    x = torch.randn(1, 3, 224, 224)

    def request():
        with torch.no_grad():
            return m(x.cuda()).cpu()

    def run(seconds):
        start, took = time.time(), []
        for k in range(int(seconds / PERIOD_S)):
            wait = start + k * PERIOD_S - time.time()
            if wait > 0:
                time.sleep(wait)
            began = time.time()
            request()
            took.append((began, time.time() - began))
        return took
    for _ in range(20):
        request()
    return run


def child(name):
    """Read numbers of seconds, one per line, and answer each with a line of JSON."""
    import torch
    run = globals()[name](torch)
    run(0.5)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(run(float(line))), flush=True)


class Program:
    def __init__(self, command, kind, tenant=None):
        self.tenant = tenant
        self.p = subprocess.Popen([*command, sys.executable, "-B", __file__, "--child", kind], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def wait(self):
        if self.p.stdout.readline() != "ready\n":
            sys.exit(f"error: {self.tenant or 'a native program'} does not start")

    def ask(self, seconds):
        self.p.stdin.write(f"{seconds}\n")
        self.p.stdin.flush()

    def answer(self):
        return json.loads(self.p.stdout.readline())

    def end(self):
        self.p.stdin.close()
        self.p.wait()


# --- The server ---------------------------------------------------------------------

class Server:
    def __init__(self, wormhole):
        self.wormhole, self.dir = wormhole, tempfile.mkdtemp()
        found = [d for p in sys.path for d in sorted(glob.glob(p + "/nvidia/*/lib"))]
        libraries = [w for d in found for w in ("--libraries", d)]
        backend = os.environ.get("WH_BACKEND")
        self.call("serve", "--daemon", *libraries, *(["--backend", backend] if backend else []))

    def call(self, command, *words):
        subprocess.run([self.wormhole, command, "--dir", self.dir, *words], check=True)

    def program(self, kind, tenant):
        return Program([self.wormhole, "run", "--dir", self.dir, "--tenant", tenant, "--mem", "none", "--"], kind,
                       tenant)

    def limit(self, tenant, sm="none", most="hard", priority="normal"):
        self.call("limit", tenant, "--sm", str(sm), "--sm-max", most, "--priority", priority)


# --- Figures --------------------------------------------------------------------------

def together(programs, seconds):
    """Run programs at the same time; return their answers, and the time in which all of them ran."""
    for p in programs:
        p.ask(seconds + 2 * WARM_S)
    begin = time.time() + WARM_S
    return [p.answer() for p in programs], begin, begin + seconds


def windows(done, begin, end, width):
    counts = [0] * int((end - begin) / width + 1e-6)
    for t in done:
        k = int((t - begin) / width)
        if t >= begin and k < len(counts):
            counts[k] += 1
    return counts


def parts(done, begin, end, width, alone):
    """Return the least, median and most part of what is made alone, over the windows."""
    p = sorted(n / width / alone for n in windows(done, begin, end, width))
    return f"{p[0]:.2f} {statistics.median(p):.2f} {p[-1]:.2f}"


class Report:
    def __init__(self, out):
        os.makedirs(out, exist_ok=True)
        self.windows = csv.writer(open(os.path.join(out, "windows.csv"), "w", buffering=1))
        self.windows.writerow(["run", "program", "width_s", "window", "steps"])
        self.latency = csv.writer(open(os.path.join(out, "latency.csv"), "w", buffering=1))
        self.latency.writerow(["run", "request", "ms"])

    def train(self, run, who, done, begin, end, alone):
        rate = sum(begin <= t < end for t in done) / (end - begin)
        alone = alone or rate
        print(f"{run} {who}: {rate:.1f} steps/s, {rate / alone:.3f} of alone; windows of 1 s: "
              f"{parts(done, begin, end, 1, alone)}; of 100 ms: {parts(done, begin, end, 0.1, alone)}", flush=True)
        for width in (1, 0.1):
            for k, n in enumerate(windows(done, begin, end, width)):
                self.windows.writerow([run, who, width, k, n])
        return rate

    def serve(self, run, took, begin, end):
        ms = sorted(1e3 * s for t, s in took if begin <= t < end)
        for k, v in enumerate(ms):
            self.latency.writerow([run, k, f"{v:.3f}"])
        print(f"{run} requests: {len(ms)}, median {statistics.median(ms):.2f} ms, P99 {ms[len(ms) * 99 // 100]:.2f}, "
              f"longest {ms[-1]:.2f}", flush=True)
        return ms[len(ms) * 99 // 100]


def four(report, run, programs, seconds, alone):
    answers, begin, end = together(programs, seconds)
    rates = [report.train(run, p.tenant or f"n{i}", a, begin, end, alone)
             for i, (p, a) in enumerate(zip(programs, answers))]
    print(f"{run}: {sum(rates):.1f} steps/s together", flush=True)
    return sum(rates)


def train_runs(report, server, native, forwarded, seconds):
    def alone(run, p):
        (done,), begin, end = together([p], seconds)
        return report.train(run, p.tenant or "n0", done, begin, end, None)

    native_alone, own = alone("native-alone", native[0]), alone("alone", forwarded[0])
    four(report, "native", native, seconds, native_alone)
    free = four(report, "unlimited", forwarded, seconds, own)
    for run, most in (("hard", "hard"), ("no-ceiling", "none")):
        for p, share in zip(forwarded, SHARES):
            server.limit(p.tenant, share, most)
        rate = four(report, run, forwarded, seconds, own)
        print(f"{run}: {rate / free:.3f} of the unlimited four", flush=True)
    for p in forwarded:
        server.limit(p.tenant)
    return own


def serve_runs(report, server, native, forwarded, seconds, own):
    def beside(run, request, train):
        (took, done), begin, end = together([request, train], seconds)
        p99 = report.serve(run, took, begin, end)
        report.train(run, "training", done, begin, end, own)
        return p99

    def alone(run, p):
        (took,), begin, end = together([p], seconds)
        return report.serve(run, took, begin, end)

    alone("native-requests-alone", native[0])
    base = alone("requests-alone", forwarded[0])
    beside("native-beside", *native)
    beside("unlimited-beside", *forwarded)
    for run, most, classes in (("hard-beside", "hard", ("normal", "normal")),
                               ("no-ceiling-beside", "none", ("normal", "normal")),
                               ("class-beside", "none", ("high", "low"))):
        for p, priority in zip(forwarded, classes):
            server.limit(p.tenant, 50, most, priority)
        print(f"{run}: P99 {beside(run, *forwarded) / base:.2f} of alone", flush=True)


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2])
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seconds", type=float, default=8, help="of each run")
    p.add_argument("--batch", type=int, default=64, help="of a training step; a small one keeps the CPU busy")
    p.add_argument("--out", default=".")
    p.add_argument("wormhole")
    opt = p.parse_args()
    os.environ["WH_BATCH"] = str(opt.batch)
    server, report = Server(opt.wormhole), Report(opt.out)
    programs = []
    try:
        native = [Program([], "training") for _ in SHARES]
        forwarded = [server.program("training", f"t{s}") for s in SHARES]
        requests = [Program([], "serving"), server.program("serving", "requests")]
        programs = native + forwarded + requests
        for each in programs:
            each.wait()
        own = train_runs(report, server, native, forwarded, opt.seconds)
        serve_runs(report, server, (requests[0], native[0]), (requests[1], forwarded[0]), opt.seconds, own)
    finally:
        for each in programs:
            each.end()
        server.call("stop", "--force")


if __name__ == "__main__":
    main()
