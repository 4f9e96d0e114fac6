#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Boots the VMX host in Bochs and runs one job in it.

A job is a directory; its script `run` is executed in the host as /job/run and writes to the
second serial port. Lines that start with @ steer this program (job.sh writes them). TAP points
are numbered anew, and two are added: the job came to its end with status 0, and the host's
kernel log is clean.

Standard output is TAP (or, with --plain, the job's lines). Standard error has one progress line
at least every --every seconds. The exit status is 0 only if all points passed.
"""
import argparse
import os
import re
import signal
import sys
import time

import machine

BAD_KERNEL = re.compile(
    r"Kernel panic|\bBUG\b|\bOops\b|WARNING: |general protection fault|"
    r"unable to handle|(self-detected|detected).*stall|blocked for more than|"
    r"possible (recursive|circular|irq) lock|inconsistent lock state|"
    r"suspicious RCU usage|lock held when returning|bad unlock balance|"
    r"scheduling while atomic|sleeping function called|KASAN|UBSAN|"
    r"kvm.*(entry failed|unexpected|BUG)|soft lockup|Out of memory")
# Linux complains about this part of the emulated machine at each boot.
KNOWN = re.compile(r"topology_common\.c:\d+ parse_legacy")
# KCSAN finds races all over Linux. A race is ours if the series is in one of its stacks.
RACE = re.compile(r"BUG: KCSAN")
OURS = re.compile(r"\b(vmx_|kvm_)?wh_|wormhole")
LAST_WORDS = re.compile(r"Kernel panic|Attempted to kill init")


class Report:
    """Turns the job's lines into TAP, or passes them through."""

    def __init__(self, plain, data):
        self.plain = plain
        self.data = data            # file that other programs evaluate
        self.points = self.failed = 0
        self.program = None         # (name, points at begin, failures, plan)
        self.status = "starting the machine"
        self.exit = None
        self.done = False
        self.kernel = []
        self.race = None            # first line of a report of KCSAN that goes on
        self.foreign_races = 0

    def emit(self, line):
        print(line, flush=True)

    def point(self, good, name):
        self.points += 1
        self.failed += not good
        if self.plain:
            if not good:
                self.emit(f"FAILED: {name}")
        else:
            self.emit(f"{'ok' if good else 'not ok'} {self.points} - {name}")

    def kernel_line(self, line):
        line = re.sub(r"^\s*\[\s*[0-9.]+\]\s*", "", line)
        if RACE.search(line):
            self.race = line
        if self.race:
            line = self.race_line(line)
        if BAD_KERNEL.search(line) and not KNOWN.search(line) and line not in self.kernel:
            self.kernel.append(line)

    def race_line(self, line):
        """Returns the race's first line if this line of its report shows that the race is ours, or
        nothing."""
        if OURS.search(line):
            line, self.race = self.race, None
            return line
        if line.startswith("====="):
            self.race = None
            self.foreign_races += 1
        return ""

    def command(self, line):
        word, _, rest = line[1:].partition(" ")
        if word == "":
            self.status = rest
        elif word == "exit":
            self.exit = int(rest)
        elif word == "done":
            self.done = True
        elif word == "data":
            print(rest, file=self.data, flush=True)
        elif word == "kernel":
            self.kernel_line(rest.partition(" ")[2])
        elif word == "begin":
            self.status = rest
            self.program = [rest, self.points, self.failed, None]
        elif word == "end":
            name, _, rc = rest.rpartition(" ")
            self.end_program(name, int(rc))
        else:
            self.emit(f"# unknown command: {line}")

    def end_program(self, name, rc):
        _, before, failed, plan = self.program or [name, self.points, self.failed, None]
        self.program = None
        ran = self.points - before
        if plan == 0 and ran == 0 and rc in (0, 4):
            return
        if plan is not None and plan != ran:
            self.point(False, f"{name}/planned_{plan}_points_but_ran_{ran}")
        elif rc not in (0, 4) and self.failed == failed:
            self.point(False, f"{name}/ends_well: exit status {rc}")
        elif ran == 0 and rc == 0:
            self.point(False, f"{name}/reports_something")

    def job_line(self, line):
        if line.startswith("@"):
            return self.command(line)
        if self.plain:
            return self.emit(line)
        prefix = f"{self.program[0]}/" if self.program else ""
        m = re.match(r"(not )?ok\b\s*\d*\s*(?:-\s*)?(.*)", line)
        if m:
            return self.point(not m[1], prefix + m[2])
        m = re.match(r"1\.\.(\d+)(?:\s*#\s*(SKIP\b.*))?", line)
        if m and self.program:
            self.program[3] = int(m[1])
            if m[1] == "0":
                self.point(True, f"{prefix}all # {m[2] or 'SKIP'}")
                self.program[3] = 1
            return None
        if not line.startswith("TAP version"):
            self.emit(line if line.startswith("#") else f"# {line}")
        return None

    def finish(self, why):
        if self.foreign_races:
            self.emit(f"# {self.foreign_races} races in code that is not the series'")
        for line in self.kernel[:60]:
            self.emit(f"# kernel: {line}")
        self.point(not self.kernel, "host_kernel_log_is_clean")
        self.point(self.exit == 0 and self.done and not why, "job_comes_to_its_end"
                   + (f": {why}" if why else "" if self.exit == 0 else f": status {self.exit}"))
        if not self.plain:
            self.emit(f"1..{self.points}")
        return 1 if self.failed else 0


def watch(m, report, limit, every):
    """Follows the machine until its job is over; returns what went wrong."""
    start = shown = time.monotonic()
    over = None
    shown_status = None
    while True:
        alive = m.running()
        for line in m.lines("console"):
            report.kernel_line(line)
            if LAST_WORDS.search(line) and over is None:
                over = time.monotonic() + 3
        for line in m.lines("output"):
            report.job_line(line)
        now = time.monotonic()
        if not alive:
            return None if report.done else "the machine stopped early"
        if report.done and over is None:
            over = now + 3
        if over is not None and now > over:
            return None if report.done else "the host's kernel died"
        if now - start > limit:
            return f"no end after {limit} s, while: {report.status}"
        changed = report.status != shown_status and now - shown >= 2
        if changed or now - shown >= every:
            print(f"# [{now - start:4.0f} s] {report.status}", file=sys.stderr, flush=True)
            shown, shown_status = now, report.status
        time.sleep(0.1)


def tail(path, n):
    with open(path, errors="replace") as f:
        return f.read().replace("\r", "").splitlines()[-n:]


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--kernel", required=True)
    p.add_argument("--initrd", action="append", default=[], help="before the job's own")
    p.add_argument("--out", required=True, help="folder for images and logs")
    p.add_argument("--bochs", default=machine.BOCHS, help="another build of Bochs")
    p.add_argument("--cpus", type=int, default=int(os.environ.get("WH_CPUS", 1)))
    p.add_argument("--args", default="", help="more for the kernel's command line")
    p.add_argument("--features", default=os.environ.get("WH_FEATURES", ""),
                   help="more of the processor's, by Bochs' names")
    p.add_argument("--timeout", type=int, default=600, help="seconds")
    p.add_argument("--every", type=int, default=10, help="seconds between progress lines")
    p.add_argument("--plain", action="store_true", help="no TAP: pass the job's lines through")
    p.add_argument("job")
    return p.parse_args()


def main():
    opt = options()
    if not os.access(opt.bochs, os.X_OK):
        sys.exit(f"error: no Bochs at {opt.bochs}: make images")
    out = os.path.abspath(opt.out)
    os.makedirs(out, exist_ok=True)
    if not opt.plain:
        print("TAP version 13", flush=True)
    initrds = opt.initrd + [machine.pack_job(opt.job, out)]
    machine.make_images(out, opt.kernel, initrds, opt.args)
    machine.write_bochsrc(out, opt.cpus, opt.features)
    report = Report(opt.plain, open(os.path.join(out, "data"), "w"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    m = machine.Machine(out, os.path.abspath(opt.bochs))
    try:
        why = watch(m, report, opt.timeout, opt.every)
    finally:
        m.kill()
    if why:
        for line in tail(os.path.join(out, "console"), 40):
            report.emit(f"# console| {line}")
    return report.finish(why)


if __name__ == "__main__":
    sys.exit(main())
