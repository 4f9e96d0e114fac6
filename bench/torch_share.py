#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure what programs of PyTorch get of one GPU under shares of time with and without ceilings and under
shares of SMs, beside the same programs natively, time-sliced by the driver and under MPS, in the same run.

usage: torch_share.py [--seconds S] [--batch N] [--variants WORDS] [--out DIR] WORMHOLE

WORMHOLE is the command, for example build/host/wormhole; a server of its own is started for the run.
First four programs train a ResNet-18 each; then one answers a request every 20 ms beside another that
trains. Prints one line for each program and run: steps a second and their part of what the program
makes alone, and that part in windows of 1 s and of 100 ms (least, median, most); or the latency of
requests. Then comes a table of all runs, and each goal with what was got: met or missed. DIR gets
windows.csv and latency.csv, which torch_windows.gp and torch_latency.gp draw. WORDS choose among time,
space and mps; time has the goals. Needs torch and torchvision, and a GPU; about five minutes. MPS needs
nvidia-cuda-mps-control; where it does not start, that is said. WH_BACKEND: another driver library.
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
import threading
import time

from asked import Asked, libraries

SHARES = (40, 30, 20, 10)
PERIOD_S = 0.02
WARM_S = 1.0
START_S = 120
ROUNDS = 3
GOAL_TOGETHER, GOAL_P99, GOAL_LEFT, GOAL_EXACT = 0.9, 1.1, 0.9, 1.0


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


class Program(Asked):
    """A program that trains or serves when it is asked. `env` is added to its environment."""

    def __init__(self, command, kind, tenant=None, env=None):
        self.tenant = tenant
        super().__init__([*command, sys.executable, "-B", __file__, "--child", kind], env)

    def starts(self):
        return self.line(START_S) == "ready\n"

    def ask(self, seconds):
        self.say(str(seconds))
        self.until = time.time() + seconds + START_S

    def answer(self):
        said = self.line(self.until - time.time())
        if not said:
            sys.exit(f"error: {self.tenant or 'a native program'} ends with {self.p.poll()}, or gives no answer")
        return json.loads(said)


class Programs(list):
    """Programs that end together."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self:
            p.end()

    def start(self):
        return [p for p in self if not p.starts()]


# --- The server, and MPS ------------------------------------------------------------

class Server:
    def __init__(self, wormhole):
        self.wormhole, self.dir = wormhole, tempfile.mkdtemp()
        backend = os.environ.get("WH_BACKEND")
        self.call("serve", "--daemon", *libraries(), *(["--backend", backend] if backend else []))

    def call(self, command, *words):
        subprocess.run([self.wormhole, command, "--dir", self.dir, *words], check=True, timeout=60)

    def program(self, kind, tenant, *options):
        return Program([self.wormhole, "run", "--dir", self.dir, "--tenant", tenant, "--mem", "none", *options, "--"],
                       kind, tenant)

    def device_ns(self):
        """The time, and the device's for each tenant, as the server counts it."""
        text = subprocess.run([self.wormhole, "stat", "--json", "--dir", self.dir], check=True, timeout=60, text=True,
                              stdout=subprocess.PIPE).stdout
        return time.monotonic_ns(), {t["tenant"]: t["devices"][0]["gpu_ns"] for t in json.loads(text)}

    def limit(self, tenant, sm="none", most="hard", priority="normal"):
        self.call("limit", tenant, "--sm", str(sm), "--sm-max", most, "--priority", priority)


class DeviceTime(threading.Thread):
    """Looks at the tenants' parts of the device's time while programs run together."""

    def __init__(self, server, seconds):
        super().__init__(daemon=True)
        self.server, self.seconds, self.parts = server, seconds, {}
        self.start()

    def run(self):
        time.sleep(WARM_S)
        begin, before = self.server.device_ns()
        time.sleep(self.seconds)
        end, after = self.server.device_ns()
        self.parts = {t: 100 * (after[t] - before.get(t, 0)) / (end - begin) for t in after}

    def farthest(self, shares):
        """Prints what each tenant has had, and returns the largest difference from its share, in points."""
        self.join()
        if not set(shares) <= set(self.parts):
            sys.exit("error: the server does not say what tenants had of the device's time")
        print("of the device's time: " + ", ".join(f"{t} {self.parts[t]:.1f} %" for t in shares), flush=True)
        return max(abs(self.parts[t] - share) for t, share in shares.items())


class Mps:
    """NVIDIA's daemon, in folders of its own, so that no other program here becomes its client."""

    def __init__(self):
        self.dir = tempfile.mkdtemp()
        self.env = {"CUDA_MPS_PIPE_DIRECTORY": self.dir, "CUDA_MPS_LOG_DIRECTORY": self.dir}

    def control(self, *words, text=None):
        return subprocess.run(["nvidia-cuda-mps-control", *words], input=text, text=True, timeout=30,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **self.env})

    def missing(self):
        """Starts it. Returns why it does not start, or None."""
        try:
            p = self.control("-d")
        except (OSError, subprocess.TimeoutExpired) as e:
            return str(e)
        return f"status {p.returncode}: {p.stdout.strip()}" if p.returncode else None

    def serves(self):
        """Whether the daemon has a server, and so the programs are its clients."""
        return self.control(text="get_server_list\n").stdout.strip()

    def why(self):
        """The last lines of its logs."""
        logs = sorted(glob.glob(os.path.join(self.dir, "*.log")))
        return " | ".join(line for f in logs for line in open(f, errors="replace").read().splitlines()[-3:])

    def stop(self):
        try:
            self.control(text="quit -t 5\n")
        except (OSError, subprocess.TimeoutExpired):
            pass


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


def latencies(took, begin, end):
    """Return how long the requests of this time took, in ms."""
    return [1e3 * s for t, s in took if begin <= t < end]


class Report:
    def __init__(self, out):
        os.makedirs(out, exist_ok=True)
        self.windows = csv.writer(open(os.path.join(out, "windows.csv"), "w", buffering=1))
        self.windows.writerow(["run", "program", "width_s", "window", "steps", "part_of_alone"])
        self.latency = csv.writer(open(os.path.join(out, "latency.csv"), "w", buffering=1))
        self.latency.writerow(["run", "request", "ms", "requests"])
        self.fours, self.besides, self.goals, self.unmeasured = [], [], [], []

    def train(self, run, who, done, begin, end, alone):
        """Returns steps a second, and their part of `alone`."""
        rate = sum(begin <= t < end for t in done) / (end - begin)
        alone = alone or rate
        if not alone:
            sys.exit(f"error: {run} {who}: no step within {end - begin:.0f} s; say more --seconds")
        print(f"{run} {who}: {rate:.1f} steps/s, {rate / alone:.3f} of alone; windows of 1 s: "
              f"{parts(done, begin, end, 1, alone)}; of 100 ms: {parts(done, begin, end, 0.1, alone)}", flush=True)
        for width in (1, 0.1):
            for k, n in enumerate(windows(done, begin, end, width)):
                self.windows.writerow([run, who, width, k, n, f"{n / width / alone:.4f}"])
        return rate, rate / alone

    def serve(self, run, ms):
        """Returns the P99 and the mean of latencies in ms."""
        ms = sorted(ms)
        for k, v in enumerate(ms):
            self.latency.writerow([run, k, f"{v:.3f}", len(ms)])
        p99 = ms[len(ms) * 99 // 100]
        print(f"{run} requests: {len(ms)}, median {statistics.median(ms):.2f} ms, P99 {p99:.2f}, "
              f"longest {ms[-1]:.2f}", flush=True)
        return p99, statistics.mean(ms)

    def goal(self, what, got, least=None, most=None):
        met = got >= least if least is not None else got <= most
        bound = f"at least {least:.3f}" if least is not None else f"at most {most:.3f}"
        self.goals.append(f"goal {'met' if met else 'MISSED'}: {what}: {got:.3f}, {bound}")

    def table(self):
        if self.fours:
            print("\nfour trainings, 40/30/20/10 where shares are said   together  of unlimited  parts of alone")
            for run, what, total, quotient, each in self.fours:
                print(f"{run:16} {what:36} {total:7.1f}  {quotient:12.3f}  " + " ".join(f"{x:.3f}" for x in each))
        if self.besides:
            print("\nrequests beside a training                             P99, ms  of alone  "
                  "training of alone  of what is left")
            for run, what, p99, quotient, part, left in self.besides:
                print(f"{run:18} {what:34} {p99:8.2f} {quotient:9.2f} {part:18.3f} {left:16.3f}")
        for line in self.unmeasured:
            print(f"not measured: {line}")
        for line in self.goals:
            print(line)
        sys.stdout.flush()


class Four:
    """Runs of four trainings. What they make is compared with one alone in the same world (natively or
    forwarded), and with the four without limits there."""

    def __init__(self, report, seconds):
        self.report, self.seconds = report, seconds
        self.alone, self.free = {}, {}

    def measure_alone(self, world, run, p):
        (done,), begin, end = together([p], self.seconds)
        self.alone[world], _ = self.report.train(run, p.tenant or "n0", done, begin, end, None)

    def run(self, world, run, what, programs):
        answers, begin, end = together(programs, self.seconds)
        got = [self.report.train(run, p.tenant or f"n{i}", a, begin, end, self.alone[world])
               for i, (p, a) in enumerate(zip(programs, answers))]
        total, each = sum(rate for rate, _ in got), [part for _, part in got]
        self.free.setdefault(world, total)
        print(f"{run}: {total:.1f} steps/s together, {total / self.free[world]:.3f} of the unlimited four", flush=True)
        self.report.fours.append((run, what, total, total / self.free[world], each))
        return total / self.free[world], each


class Beside:
    """Runs of requests beside a training. The latency of requests alone comes first (alone(), know_alone())."""

    def __init__(self, report, seconds, alone):
        self.report, self.seconds, self.train_alone = report, seconds, alone
        self.ms = {"native": [], "ours": []}
        self.p99, self.left = {}, {}

    def together(self, *programs):
        """Run programs; return what each has done, and the time in which all of them ran."""
        return together(programs, self.seconds)

    def alone(self, world, p):
        (took,), begin, end = self.together(p)
        self.ms[world] += latencies(took, begin, end)

    def know_alone(self, world, run):
        self.p99[world], mean = self.report.serve(run, self.ms[world])
        # What is left to a training is the time in which no request is under way.
        self.left[world] = 1 - mean / 1e3 / PERIOD_S
        print(f"{run}: {self.left[world]:.3f} of the time is left to others", flush=True)

    def say(self, world, run, what, runs):
        """Report what several runs of together(request, train) have done, as one."""
        ms = [v for (took, _), begin, end in runs for v in latencies(took, begin, end)]
        parts_of_alone = [self.report.train(f"{run}-{k}" if k else run, "training", done, begin, end,
                                            self.train_alone[world])[1]
                          for k, ((_, done), begin, end) in enumerate(runs)]
        p99, _ = self.report.serve(run, ms)
        part = statistics.mean(parts_of_alone)
        got = p99 / self.p99[world], part / self.left[world]
        print(f"{run}: P99 {got[0]:.2f} of alone, training {got[1]:.3f} of what is left", flush=True)
        self.report.besides.append((run, what, p99, got[0], part, got[1]))
        return got

    def run(self, world, run, what, request, train):
        return self.say(world, run, what, [self.together(request, train)])


# --- Runs -------------------------------------------------------------------------------

def time_of_four(report, server, four, native, forwarded):
    four.run("native", "native", "natively, sliced by the driver", native)
    four.run("ours", "unlimited", "forwarded, without limits", forwarded)
    for run, most, what in (("hard", "hard", "shares of time, hard ceilings"),
                            ("no-ceiling", "none", "shares of time, no ceilings")):
        for p, share in zip(forwarded, SHARES):
            server.limit(p.tenant, share, most)
        device = DeviceTime(server, four.seconds)
        quotient, each = four.run("ours", run, what, forwarded)
        farthest = device.farthest({p.tenant: share for p, share in zip(forwarded, SHARES)})
        if run == "hard":
            report.goal("hard ceilings, the farthest from its share, in points", farthest, most=GOAL_EXACT)
    report.goal("four without ceilings, together, of the unlimited four", quotient, least=GOAL_TOGETHER)
    for share, part in zip(SHARES, each):
        report.goal(f"the one with {share} %, of what it makes alone", part, least=share / 100)
    for p in forwarded:
        server.limit(p.tenant)


def time_beside(report, server, beside, native, forwarded):
    """Requests alone and those of class high beside a training of class low come in turns: P99 is the time of a
    few requests, and the machine's own changes from minute to minute."""
    def limits(most=None, classes=("normal", "normal")):
        for p, priority in zip(forwarded, classes):
            server.limit(p.tenant, *((50, most, priority) if most else ()))

    ranked = []
    for _ in range(ROUNDS):
        limits()
        beside.alone("native", native[0])
        beside.alone("ours", forwarded[0])
        limits("none", ("high", "low"))
        ranked.append(beside.together(*forwarded))
    limits()
    beside.know_alone("native", "native-requests-alone")
    beside.know_alone("ours", "requests-alone")
    beside.run("native", "native-beside", "natively, sliced by the driver", *native)
    beside.run("ours", "unlimited-beside", "forwarded, without limits", *forwarded)
    for run, what, most in (("hard-beside", "50/50 of time, hard ceilings", "hard"),
                            ("no-ceiling-beside", "50/50 of time, no ceilings", "none")):
        limits(most)
        beside.run("ours", run, what, *forwarded)
    limits()
    p99, left = beside.say("ours", "class-beside", "the same, of classes high and low", ranked)
    report.goal("P99 of class high beside a training of class low, of alone", p99, most=GOAL_P99)
    report.goal("that, of a request alone natively", p99 * beside.p99["ours"] / beside.p99["native"], most=GOAL_P99)
    report.goal("that training, of what is left", left, least=GOAL_LEFT)


def started(report, run, programs):
    """Whether they all start. What does not is no error of this run, but said in its table."""
    late = programs.start()
    if late:
        report.unmeasured.append(f"{run}: {len(late)} of {len(programs)} programs do not start")
    return not late


def space(report, server, four, beside):
    """A share of SMs counts for contexts made later, so these are programs of their own."""
    def program(kind, tenant, share):
        return server.program(kind, tenant, "--sm", str(share), "--sm-policy", "spatial")

    with Programs(program("training", f"s{share}", share) for share in SHARES) as programs:
        if started(report, "space", programs):
            four.run("ours", "space", "shares of SMs (green contexts)", programs)
    with Programs([program("serving", "s-requests", 50), program("training", "s-training", 50)]) as programs:
        if started(report, "space-beside", programs):
            beside.run("ours", "space-beside", "50/50 of SMs (green contexts)", *programs)


def under_mps(report, four, beside):
    mps = Mps()
    missing = mps.missing()
    if missing:
        report.unmeasured.append(f"MPS does not start: {missing}")
        return

    def program(kind, **words):
        return Program([], kind, env={**mps.env, **{f"CUDA_MPS_{w}": str(v) for w, v in words.items()}})

    def can(run, programs):
        if not started(report, run, programs):
            report.unmeasured.append(f"{run}: the daemon says {mps.why()}")
            return False
        if not mps.serves():
            report.unmeasured.append(f"{run}: the programs run, but not as clients of MPS; it says {mps.why()}")
            return False
        return True

    try:
        with Programs(program("training") for _ in SHARES) as programs:
            if can("mps", programs):
                four.run("native", "mps", "natively, MPS", programs)
        with Programs(program("training", ACTIVE_THREAD_PERCENTAGE=s) for s in SHARES) as programs:
            if can("mps-shares", programs):
                four.run("native", "mps-shares", "natively, MPS, shares of threads", programs)
        with Programs([program("serving", CLIENT_PRIORITY=0), program("training", CLIENT_PRIORITY=1)]) as programs:
            if can("mps-beside", programs):
                beside.run("native", "mps-beside", "natively, MPS, priorities", *programs)
    finally:
        mps.stop()


def measure(opt, report, server):
    with Programs() as programs:
        native = [Program([], "training") for _ in SHARES]
        forwarded = [server.program("training", f"t{s}") for s in SHARES]
        requests = [Program([], "serving"), server.program("serving", "requests")]
        programs += native + forwarded + requests
        for late in programs.start():
            sys.exit(f"error: {late.tenant or 'a native program'} does not start")
        four = Four(report, opt.seconds)
        four.measure_alone("native", "native-alone", native[0])
        four.measure_alone("ours", "alone", forwarded[0])
        beside = Beside(report, opt.seconds, four.alone)
        if "time" in opt.variants:
            time_of_four(report, server, four, native, forwarded)
            time_beside(report, server, beside, (requests[0], native[0]), (requests[1], forwarded[0]))
        else:
            four.run("native", "native", "natively, sliced by the driver", native)
            four.run("ours", "unlimited", "forwarded, without limits", forwarded)
            for world, run, p in zip(("native", "ours"), ("native-requests-alone", "requests-alone"), requests):
                beside.alone(world, p)
                beside.know_alone(world, run)
    if "space" in opt.variants:
        space(report, server, four, beside)
    if "mps" in opt.variants:
        under_mps(report, four, beside)


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2])
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seconds", type=float, default=8, help="of each run")
    p.add_argument("--batch", type=int, default=64, help="of a training step; a small one keeps the CPU busy")
    p.add_argument("--variants", default="time,space,mps", help="some of these, with commas")
    p.add_argument("--out", default=".")
    p.add_argument("wormhole")
    opt = p.parse_args()
    opt.variants = opt.variants.split(",")
    if not set(opt.variants) <= {"time", "space", "mps"}:
        p.error(f"--variants: {','.join(opt.variants)} has others than time, space and mps")
    os.environ["WH_BATCH"] = str(opt.batch)
    server, report = Server(opt.wormhole), Report(opt.out)
    try:
        measure(opt, report, server)
    finally:
        report.table()
        server.call("stop", "--force")


if __name__ == "__main__":
    main()
