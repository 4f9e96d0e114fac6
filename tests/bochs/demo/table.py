#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the demo's table from the @data lines of its run; with --tap, as a test.

usage: table.py [--tap] [--debian] --cpus N DATA JOB-STATUS. The exit status is 1 unless the job
ended well and every program ran, delegated calls and was right. With --debian the machines must
also say that they run Debian's own kernel.
"""
import argparse
import json
import sys

PROGRAMS = ["array_add", "vectorAdd", "matmul", "reduce", "streams", "threads"]
# These programs run on the test device, whose engine needs a CPU beside the client's.
DEVICE_PROGRAMS = ["launches"]
# The host's own interrupts and timers cause these exits, whatever a call does.
HOST = {"external_interrupt": "irq", "preemption_timer": "timer", "nmi": "nmi"}
SHORT = {"ept_violation": "ept", "exception_nmi": "exception"}
LEGEND = """\
calls: delegated calls, counted by the worker.  exits: VM exits that the calls
caused while in the server's EPT, by reason (ept: a page that the view did not
hold, or the fault of a handoff).  host: exits in the server's EPT for the host's
own interrupts and timers.  handoffs: calls that went on on the server's own
vCPU, by reason.  CPU time: of the server VM's vCPUs, from a program's start to
its result."""


def load(path):
    """Returns {program: {"before": {...}, "after": {...}, "rc": n}}, {machine: its kernel}."""
    runs, kernels = {}, {}
    with open(path) as f:
        for line in f:
            when, program, rest = line.rstrip("\n").split(" ", 2)
            if when == "kernel":
                kernels[program] = rest.strip()
                continue
            run = runs.setdefault(program, {})
            if when == "result":
                run["rc"] = int(rest)
                continue
            key, value = rest.split(" ", 1)
            run.setdefault(when, {})[key] = value
    return runs, kernels


def debians_own(kernels):
    """Returns the kernel of all machines if it is Debian's own and only KVM's modules were changed."""
    kernel = kernels.get("host", "")
    same = all(kernels.get(m) == kernel for m in ("server", "client"))
    return kernel if same and "-cloud-amd64 " in kernel and " Debian " in kernel \
        and kernels.get("modules") == "kvm kvm_intel" else None


def stat(sample):
    return json.loads(sample["stat"])[0]


def difference(after, before, group):
    """Returns what was added to each reason, without the reasons that did not change."""
    diff = {k: int(v - before[group].get(k, 0)) for k, v in after[group].items()}
    return {k: v for k, v in diff.items() if v}


def words(reasons, names):
    return ", ".join(f"{names.get(k, k)} {v}" for k, v in sorted(reasons.items())) or "0"


class Run:
    """The result of one program: the differences of the counters around it."""

    def __init__(self, name, run):
        self.name = name
        self.ran = "rc" in run and "after" in run
        if not self.ran:
            return
        before, after = run["before"], run["after"]
        old, new = stat(before), stat(after)
        self.rc = run["rc"]
        self.calls = int(after["calls"]) - int(before["calls"])
        exits = difference(new, old, "exits")
        self.exits = {k: v for k, v in exits.items() if k not in HOST}
        self.host = {k: v for k, v in exits.items() if k in HOST}
        self.handoffs = difference(new, old, "handoffs")
        self.cpu_ms = (int(after["cpu"]) - int(before["cpu"])) / 1e6

    def good(self):
        return self.ran and self.rc == 0 and self.calls > 0

    def row(self):
        if not self.ran:
            return [self.name, "NOT RUN"] + ["-"] * 5
        return [self.name, "ok" if self.rc == 0 else f"WRONG ({self.rc})",
                str(self.calls), words(self.exits, SHORT), words(self.host, HOST),
                words(self.handoffs, SHORT), f"{self.cpu_ms:.1f}"]

    def points(self):
        """Yields (good, name, what was seen) for each behaviour."""
        yield self.good(), "is_right_and_delegates_calls", self.row()
        if self.ran:
            yield not self.exits, "takes_no_exit_but_the_hosts", self.exits
            yield not self.handoffs, "hands_no_call_off", self.handoffs
            # The sample may come late by one nap of 2 ms.
            yield self.cpu_ms < 10, "leaves_the_server_frozen", self.cpu_ms


def print_table(runs, kernel):
    rows = [["program", "result", "calls", "exits", "host", "handoffs",
             "server CPU time, ms"]] + [r.row() for r in runs]
    width = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for r in rows:
        print("  ".join(c.ljust(w) for c, w in zip(r, width)).rstrip())
    print()
    print(LEGEND)
    if kernel:
        print()
        print("Host, server VM and client VM ran Debian's own kernel, of which nothing was changed "
              f"but KVM's two modules in the host: {kernel}")


def print_tap(runs, job_ended_well, debian, kernels):
    points = [(job_ended_well, "job_ends_well_and_kernel_log_is_clean", "")]
    if debian:
        points.append((debians_own(kernels) is not None,
                       "nothing_of_debians_kernel_is_changed_but_kvms_modules", kernels))
    for run in runs:
        points += [(g, f"{run.name}/{n}", seen) for g, n, seen in run.points()]
    print("TAP version 13")
    print(f"1..{len(points)}")
    for i, (good, name, seen) in enumerate(points, 1):
        print(f"{'ok' if good else 'not ok'} {i} - {name}")
        if not good:
            print(f"# seen: {seen}")
    return all(good for good, _, _ in points)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tap", action="store_true")
    p.add_argument("--debian", action="store_true")
    p.add_argument("--cpus", type=int, required=True)
    p.add_argument("data")
    p.add_argument("status")
    opt = p.parse_args()
    samples, kernels = load(opt.data)
    programs = PROGRAMS + (DEVICE_PROGRAMS if opt.cpus > 1 else [])
    runs = [Run(n, samples.get(n, {})) for p in programs
            for n in (f"static/{p}", f"shared/{p}")]
    if opt.tap:
        good = print_tap(runs, opt.status == "0", opt.debian, kernels)
    else:
        kernel = debians_own(kernels)
        print_table(runs, kernel)
        good = opt.status == "0" and all(r.good() for r in runs) and (kernel or not opt.debian)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
