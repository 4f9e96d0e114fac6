#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the demo's table from the @data lines of its run.

usage: table.py DATA. Exit status 1 unless every program ran, delegated calls
and was right.
"""
import json
import sys

PROGRAMS = ["array_add", "vectorAdd", "matmul", "reduce", "streams"]
# Exits that the host's own interrupts and timers cause, whatever a call does.
HOST = {"external_interrupt": "irq", "preemption_timer": "timer", "nmi": "nmi"}
SHORT = {"ept_violation": "ept", "exception_nmi": "exception"}
LEGEND = """\
calls: delegated calls, counted by the worker.  exits: VM exits that the calls
caused while in the server's EPT, by reason (ept: a page that the view did not
hold, or the fault of a handoff).  host: exits in the server's EPT for the host's
own interrupts and timers.  handoffs: calls that went on on the server's own
vCPU, by reason.  CPU time: of the server VM's vCPUs during the run, in ms."""


def load(path):
    """{program: {"before": {...}, "after": {...}, "rc": n}}"""
    runs = {}
    with open(path) as f:
        for line in f:
            when, program, rest = line.rstrip("\n").split(" ", 2)
            run = runs.setdefault(program, {})
            if when == "result":
                run["rc"] = int(rest)
                continue
            key, value = rest.split(" ", 1)
            run.setdefault(when, {})[key] = value
    return runs


def stat(sample):
    return json.loads(sample["stat"])[0]


def difference(after, before, group):
    """What was added to each reason, those that did not change left out."""
    diff = {k: int(v - before[group].get(k, 0)) for k, v in after[group].items()}
    return {k: v for k, v in diff.items() if v}


def words(reasons, names):
    return ", ".join(f"{names.get(k, k)} {v}" for k, v in sorted(reasons.items())) or "0"


def row(name, run):
    before, after = run["before"], run["after"]
    old, new = stat(before), stat(after)
    cpu = int(after["cpu"]) - int(before["cpu"])
    exits = difference(new, old, "exits")
    own = {k: v for k, v in exits.items() if k not in HOST}
    host = {k: v for k, v in exits.items() if k in HOST}
    return [name, "ok" if run["rc"] == 0 else f"WRONG ({run['rc']})",
            str(int(after["calls"]) - int(before["calls"])),
            words(own, SHORT), words(host, HOST),
            words(difference(new, old, "handoffs"), SHORT), f"{cpu / 1e6:.1f}"]


def print_table(rows):
    width = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for r in rows:
        print("  ".join(c.ljust(w) for c, w in zip(r, width)).rstrip())


def main():
    runs = load(sys.argv[1])
    rows = [["program", "result", "calls", "exits", "host", "handoffs",
             "server CPU time, ms"]]
    good = True
    for program in PROGRAMS:
        for form in ("static", "shared"):
            run = runs.get(f"{form}/{program}", {})
            if "rc" not in run or "after" not in run:
                rows.append([f"{form}/{program}", "NOT RUN"] + ["-"] * 5)
                good = False
                continue
            rows.append(row(f"{form}/{program}", run))
            good = good and run["rc"] == 0 and rows[-1][2] != "0"
    print_table(rows)
    print()
    print(LEGEND)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
