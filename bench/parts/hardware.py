# SPDX-License-Identifier: Apache-2.0
"""Figures of machines that booted the image for hardware (bench/hardware/), beside the model's. They come
from files, one for each machine, and nothing is measured here (../hardware.py)."""
import collections
import os
import re
import sys

import model
from parts import calls, cost
from report import TOP, Missing, number, plot, table, wrap, write_data

sys.path.append(os.path.join(TOP, "tests/bochs/demo"))
import table as demo                                            # noqa: E402  pylint: disable=wrong-import-position

TITLE = "On hardware"
FORMAT = "1"
SETTINGS = {"default": "as it comes", "no_apicv": "no APICv", "no_pml": "no PML", "no_apicv_no_pml": "neither",
            "no_mitigations": "no mitigations"}
# The model's costs: the figure, what is measured beside it, and how many of it are in one.
COSTS = {"vmfunc": ("cost", "vmfunc_there_and_back", "two_rdtsc", 2), "exit": ("cost", "hypercall", "two_rdtsc", 1),
         "fsgsbase": ("bench", "wrfsbase_16", "rdtsc_pair", 16)}
NOT_RUN = "not run"
# A row of the model's section: call, way, from, to.
MODELLED = re.compile(r"^\| ([^|]*?) *\| *([^|]*?) \| *([\d,]+) to ([\d,]+) \|", re.M)


def section():
    raise Missing("these figures come from the image for hardware: make -C bench hardware FILE=RESULTS "
                  "(docs/hardware.md)")


class Results:
    """What one machine wrote, by runs: the first, and the one without mitigations."""

    def __init__(self, path):
        self.path = path
        self.runs = []
        with open(path, errors="replace") as f:
            for line in f:
                word, _, rest = line.rstrip("\r\n").partition(" ")
                if word == "pass" or not self.runs:
                    self.runs.append(collections.defaultdict(list))
                self.runs[-1][word].append(rest)
        if not self.runs or self.said("hardware") != FORMAT:
            raise Missing(f"{path} has no results of the image for hardware in format {FORMAT}")
        if self.said("ticks") not in ("cycles", "instructions"):
            raise Missing(f"{path}: 'ticks {self.said('ticks')}' is neither cycles nor instructions")
        self.emulated = self.said("ticks") == "instructions"
        self.settings = [w.split()[0] for run in self.runs for w in run["setting"]]
        self.figures = {}
        for run in self.runs:
            for kind in ("cost", "bench"):
                for line in run[kind]:
                    self.add(kind, line)

    def add(self, kind, line):
        m = re.fullmatch(r"(\w+) (\w+) \w+ (\d+) ([\d.]+) ([\d.]+) ([\d.]+)", line)
        if not m:
            raise Missing(f"{self.path}: '{kind} {line}' is no figure")
        self.figures[kind, m[1], m[2]] = float(m[5])

    def said(self, word, run=0):
        return (self.runs[run][word] or ["unknown"])[0].strip()

    def all(self, word):
        return [line for run in self.runs for line in run[word]]

    def net(self, kind, setting, name, base, times=1):
        """Return a median without what reading the clock takes (`base`), or None."""
        figure = self.figures.get((kind, setting, name))
        empty = self.figures.get((kind, setting, base)) if base else 0
        return None if figure is None or empty is None else (figure - empty) / times

    def row(self, kind, name, base, times=1):
        """Return a cell for each setting."""
        digits = 1 if times == 16 else 0
        return [NOT_RUN if n is None else number(n, digits)
                for n in (self.net(kind, s, name, base, times) for s in self.settings)]


def heads(r):
    return [SETTINGS.get(s, s) for s in r.settings]


def machine(r):
    family, number_, stepping = (r.said("family").split() + ["?"] * 3)[:3]
    words = [f"family {family}, model {number_}, stepping {stepping}", f"microcode {r.said('microcode')}",
             f"{r.said('cpus')} CPUs", f"board {r.said('board') or 'unknown'}",
             f"TSC of {(r.said('tsc').split(' ', 1) + ['unknown'])[1]}",
             f"kernel {r.said('kernel').split()[0]}", f"QEMU {r.said('qemu')}", f"commit {r.said('commit')}"]
    text = wrap(f"Machine: {'; '.join(words)}.")
    if r.emulated:
        text += "\n\n" + wrap("**Emulated: these are no cycles.** This processor is an emulator's. Its TSC counts "
                              "instructions, an exit and a NOP alike.")
    if r.said("hypervisor") == "yes":
        text += "\n\n" + wrap("**In a virtual machine.** This host was a guest itself: its exits cost what its own "
                              "host makes of them.")
    return text


def settings_table(r):
    rows = []
    for run in r.runs:
        off = "off" if re.search(r"\bmitigations=off\b", " ".join(run["cmdline"])) else "on"
        for line in run["setting"]:
            name, *values = line.split()
            has = dict(v.split("=") for v in values)
            rows.append([SETTINGS.get(name, name), has.get("apicv", "?"), has.get("pml", "?"), off])
    return table(["setting", "APICv", "PML", "mitigations"], rows)


def selftests(r):
    rows = []
    for s in r.settings:
        own = [w for w in (line.split() for line in r.all("selftest")) if w[0] == s]
        bad = [w[1] for w in own if w[3] != "0" or w[5] not in ("0", "4")]
        rows.append([SETTINGS.get(s, s), len(own), sum(int(w[2]) for w in own), sum(int(w[4]) for w in own),
                     ", ".join(bad) or "none"])
    return table(["setting", "selftests", "points passed", "of these skipped", "failed"], rows)


def costs_beside_the_model(r):
    rows = [[c.words, f"{number(c.low)} to {number(c.high)}", *r.row(*COSTS[k])]
            for k, c in model.COSTS.items() if k in COSTS]
    return table(["what", "model", *heads(r)], rows)


def cost_table(r):
    rows = [[words, *r.row("cost", name, None if name == cost.DIVIDED else "two_rdtsc")]
            for name, words in cost.WORDS.items() if name != "two_rdtsc"]
    rows += [[f"call with a system call, {cpus} CPUs: {words}", *r.row("bench", name, "rdtsc_pair")]
             for name, words, cpus in calls.SYSTEM_CALLS]
    return table(["what", *heads(r)], [row for row in rows if set(row[1:]) != {NOT_RUN}])


def modelled(path):
    """Return {(call, way): (least, most)} of the model's section on the page of results."""
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        _, _, text = f.read().partition("<!-- part: model -->")
    return {(m[1], m[2]): tuple(int(n.replace(",", "")) for n in m.groups()[2:]) for m in MODELLED.finditer(text)}


def call_rows(r, ranges):
    """Return [call, way, model's range or None, medians by setting] of each call that was measured."""
    found = []
    for kind, words in calls.KINDS:
        for prefix, way in calls.EMULATED:
            name = calls.full_name(prefix, kind)
            if any(("bench", s, name) in r.figures for s in r.settings):
                found.append([words, way, ranges.get((words, way)), r.row("bench", name, "rdtsc_pair"),
                              [r.net("bench", s, name, "rdtsc_pair") for s in r.settings]])
    return found


def call_table(r, found):
    return table(["call", "way", "model", *heads(r)],
                 [[words, way, f"{number(span[0])} to {number(span[1])}" if span else "none", *cells]
                  for words, way, span, cells, _ in found])


def figure(r, found, n):
    short = {"no W": "no Wormhole", "`--b": "ibpb"}
    data = [["call", "least", "most", "measured"]]
    for words, way, span, _, nets in found:
        name = "exits forced" if "forced" in way else next((s for k, s in short.items() if k in way), "vmfunc")
        measured = next((x for x in nets if x is not None), None)
        if span and measured is not None:
            data.append([f"{words}, {name}", *span, measured])
    if len(data) == 1:
        return "No figure: no call is both in the model and measured."
    name = f"hardware_{n}"
    write_data(name, data)
    unit = "instructions of an emulator, beside cycles of the model" if r.emulated else "cycles"
    return plot(name, "hardware", f"Calls as measured on {r.said('cpu')}, and the model's spread", unit)


def demo_table(r):
    samples = {}
    for line in r.all("demo"):
        when, program, *rest = line.split(" ", 2)
        if when in ("before", "after", "result") and rest:
            run = samples.setdefault(program, {})
            if when == "result":
                run["rc"] = int(rest[0])
            else:
                key, _, value = rest[0].partition(" ")
                run.setdefault(when, {})[key] = value
    rows = [demo.Run(name, run).row() for name, run in samples.items()]
    return table(["program", "result", "calls", "exits", "host", "handoffs", "server CPU, ms"], rows) if rows else \
        "The demo's programs did not run."


def incomplete(r):
    """Return what was left out or failed, or nothing."""
    lines = [f"- left out: {line}" for line in r.all("skipped")]
    lines += [f"- failed: {line}" for line in r.all("failed")]
    lines += [f"- run {i} did not come to its end" for i, run in enumerate(r.runs, 1) if "end" not in run]
    lines += [f"- this machine lacks: {re.split('  +', line)[0]}" for line in r.all("check")
              if "MISSING" in line and "not_ready" in r.runs[0]]
    return "\n".join(["Not all of it ran:", "", *dict.fromkeys(lines)]) if lines else "All steps ran."


def text_of(r, n, page):
    """Return the text about the n-th machine. `page` has the model's section."""
    parts = [f"### {r.said('cpu')}", machine(r), incomplete(r)]
    if r.settings:
        ticks = "Instructions" if r.emulated else "Cycles of the TSC, which need not be the core's"
        found = call_rows(r, modelled(page))
        parts += [settings_table(r), "The series' selftests:", selftests(r),
                  wrap(f"{ticks}: medians without what reading the clock takes. The model's exit has no instruction of "
                       "the host, the measured one has KVM's. Costs beside the model:"),
                  costs_beside_the_model(r), "Calls beside the model:", call_table(r, found), figure(r, found, n),
                  "What the mechanism costs, in two VMs without an operating system, and system calls in calls:",
                  cost_table(r), "The demo's programs:", demo_table(r)]
    return "\n\n".join(parts)
