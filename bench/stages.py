#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: how many instructions a delegated call takes, stage by stage.

Boots the VMX host in Bochs with a server VM and a client VM, and runs
bench/stages in the client. Two ways of counting, in one run:

- the client's TSC, which counts instructions there, around thousands of calls;
- Bochs' debugger, which writes down each instruction of some marked calls; the
  addresses say which stage an instruction belongs to (trace.py).

Writes build/bench/stages.dat, stages.md and, where gnuplot is installed,
stages.png. Exit status 1 when a figure could not be taken; no figure is judged.
"""
import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys

TOP = os.environ.get("WH_TOP") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("WH_BUILD") or os.path.join(TOP, "build")
sys.dont_write_bytecode = True          # nothing beside the sources
sys.path[:0] = [os.path.join(TOP, "bench"), os.path.join(TOP, "tests/bochs")]
import debugger                                                     # noqa: E402
import machine                                                      # noqa: E402
import run_job                                                      # noqa: E402
import trace                                                        # noqa: E402

CALLS = ["null_call", "launch"]
BASELINES = [("rdtsc_pair", "two RDTSC, nothing between"),
             ("getpid", "getpid(), a system call of the client"),
             ("cpuid_hypercall", "CPUID hypercall from CPL 3: one VM exit"),
             ("null_call", "null call, delegated"),
             ("launch_direct", "cuLaunchKernel, softgpu in the process"),
             ("launch", "cuLaunchKernel, delegated")]
# Published cycles of one VMFUNC with VPID: SkyBridge, and LVDs on Haswell.
VMFUNC_CYCLES = (134, 169)


# --- The run ---------------------------------------------------------------------

def missing_images():
    names = ["bochs/host.cpio", "kernel/host/bzImage", "kernel/server/bzImage",
             "kernel/client/bzImage", "server/vm/image/server.cpio", "tests/vm/client.cpio"]
    return [n for n in names if not os.path.exists(os.path.join(BUILD, n))]


def lay_out(out):
    here = os.path.join(TOP, "bench/job")
    subprocess.run([os.path.join(TOP, "tests/bochs/mkjob.sh"), os.path.basename(out),
                    os.path.join(here, "client.list")], check=True,
                   env=dict(os.environ, WH_TOP=TOP, WH_BUILD=BUILD))
    shutil.copy(os.path.join(here, "run"), os.path.join(out, "job/run"))


def configure(out, marked):
    """Bochs' debugger goes on by itself, and traces between two marks."""
    debugger.configure(out, "c\n" + "trace on\nc\ntrace off\nc\n" * (marked * len(CALLS)))


def boot(out, marked, limit):
    initrds = [os.path.join(BUILD, "bochs/host.cpio"), machine.pack_job(os.path.join(out, "job"), out)]
    machine.make_images(out, os.path.join(BUILD, "kernel/host/bzImage"), initrds, debugger.KERNEL_ARGS)
    configure(out, marked)
    with open(os.path.join(out, "data"), "w") as data:
        report = run_job.Report(True, data)
        m = debugger.Machine(out)
        try:
            why = run_job.watch(m, report, limit, 5)
        finally:
            m.kill()
        return report.finish(why)


# --- What came of it -----------------------------------------------------------------

class Figures:
    def __init__(self, out):
        self.bench = {}         # name: (samples, min, median, max)
        self.marked = {}        # name: (count, entry)
        self.stat = {}          # name: {"before"/"after": ...}
        self.calls = {}         # name: number
        self.versions = {}
        with open(os.path.join(out, "data")) as f:
            for line in f:
                self.take(line.split(None, 3))
        symbols = trace.read_map(os.path.join(BUILD, "trampoline/page.map"))
        self.divide(list(trace.sections(os.path.join(out, "trace"))), symbols)

    def take(self, words):
        word, name, what, rest = (words + [""])[:4]
        if word == "bench":
            n, *values = rest.split()
            self.bench[name] = (int(n), *map(float, values))
        elif word == "marked":
            self.marked[name] = (int(what), int(rest, 16))
        elif word == "calls":
            self.calls[name] = int(what)
        elif word == "versions":
            self.versions[name] = f"{what} {rest}".strip()
        elif word in ("before", "after"):
            self.stat.setdefault(name, {}).setdefault(word, {})[what] = rest.strip()

    def divide(self, sections, symbols):
        """self.stages: name: one row of stages for each marked call."""
        self.stages, self.disturbed = {}, {}
        for name in CALLS:
            count, entry = self.marked[name]
            mine, sections = sections[:count], sections[count:]
            if len(mine) != count:
                raise ValueError(f"{name}: {len(mine)} of {count} marked calls were traced")
            self.stages[name] = [trace.stages(s, entry, symbols) for s in mine]
            self.disturbed[name] = sum(map(trace.in_kernel, mine))

    def added(self, name, group):
        """What a program added to a group of KVM's counters, by reason."""
        old, new = (json.loads(self.stat[name][w]["stat"])[0] for w in ("before", "after"))
        return {k: int(v - old[group].get(k, 0)) for k, v in new[group].items()
                if v != old[group].get(k, 0)}


def spread(values):
    values = sorted(values)
    return values[0], values[len(values) // 2], values[-1]


# --- Output ----------------------------------------------------------------------------

def tool_version(argv):
    out = subprocess.run(argv, capture_output=True, text=True).stdout
    m = re.search(r"\d+(\.\d+)+", out)
    return m[0] if m else "unknown"


def environment(f):
    commit = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty", "--abbrev=12"],
                            capture_output=True, text=True).stdout.strip() or "unknown"
    return [("date", datetime.date.today().isoformat()), ("commit", commit),
            ("Bochs", tool_version(["bochs", "--help"])),
            ("host kernel", f.versions.get("kernel", "?")),
            ("QEMU in the host", f.versions.get("qemu", "?")),
            ("compiler", tool_version(["gcc", "--version"]))]


def table(head, rows):
    """Markdown that also reads well as it is."""
    rows = [head] + [[str(c) for c in r] for r in rows]
    width = [max(len(r[i]) for r in rows) for i in range(len(head))]
    line = lambda r: "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w)
                                       for i, (c, w) in enumerate(zip(r, width))) + " |"
    rule = "|" + "|".join("-" * (w + 2) for w in width) + "|"
    return "\n".join([line(rows[0]), rule] + [line(r) for r in rows[1:]])


def number(x):
    return f"{x:,.0f}"


def stage_tables(f):
    for name in CALLS:
        rows = f.stages[name]
        columns = list(zip(*rows)) + [[sum(r) for r in rows]]
        body = [[stage] + [number(x) for x in spread(c)]
                for stage, c in zip(trace.STAGES + ["whole call"], columns)]
        yield (f"{name}: instructions per stage, {len(rows)} traced calls, "
               f"{f.disturbed[name]} of them with an interrupt or exit inside\n\n"
               + table(["stage", "min", "median", "max"], body))


def whole_table(f):
    overhead = f.bench["rdtsc_pair"][2]
    rows = []
    for name, words in BASELINES:
        n, low, median, high = f.bench[name]
        net = "" if name == "rdtsc_pair" else number(median - overhead)
        rows.append([words, number(n), number(low), number(median), number(high), net])
    return ("Whole calls by the client's TSC. Net is the median less that of two RDTSC; it has the "
            "bench's own call of the stub in it, which the stages have not.\n\n"
            + table(["what", "runs", "min", "median", "max", "net"], rows))


def reasons(counts):
    return ", ".join(f"{k} {number(v)}" for k, v in sorted(counts.items())) or "none"


def exit_lines(f):
    for name in CALLS:
        yield (f"- {name}: {number(f.calls[name])} calls measured; with the program's start, exits taken "
               f"in the view: {reasons(f.added(name, 'exits'))}; "
               f"handoffs: {reasons(f.added(name, 'handoffs'))}")


def bars(f):
    for name in CALLS:
        medians = [spread(c)[1] for c in zip(*f.stages[name])]
        scale = 50 / max(medians)
        for stage, value in zip(trace.STAGES, medians):
            yield f"{name:>10} {stage:<16} {'#' * max(1, round(value * scale))} {value:,}"


def text(f):
    low, high = VMFUNC_CYCLES
    parts = ["## Instructions per stage", ", ".join(f"{k} {v}" for k, v in environment(f)),
             *stage_tables(f), whole_table(f),
             "Exits, counted by KVM (`wormhole stat`):\n\n" + "\n".join(exit_lines(f)),
             "```\n" + "\n".join(bars(f)) + "\n```",
             f"A model, not a measurement: a call has two VMFUNC, for which {low} to {high} cycles "
             f"each were published (VPID on), so {2 * low} to {2 * high} cycles of a real "
             "processor on top of what its instructions take. Bochs counts each as one instruction."]
    return "\n\n".join(parts) + "\n"


def write_data(f, path):
    with open(path, "w") as out:
        out.write("# call\tstage\tmin\tmedian\tmax\n")
        for name in CALLS:
            for stage, c in zip(trace.STAGES, zip(*f.stages[name])):
                low, median, high = spread(c)
                out.write(f'"{name}"\t"{stage}"\t{low}\t{median}\t{high}\n')


def plot(folder):
    if not shutil.which("gnuplot"):
        print("no stages.png: gnuplot is not installed (Debian package gnuplot-nox)")
        return
    subprocess.run(["gnuplot", os.path.join(TOP, "bench/stages.gp")], cwd=folder, check=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--marked", type=int, required=True, help="as built into bench/stages")
    p.add_argument("--timeout", type=int, default=900, help="seconds")
    p.add_argument("--again", action="store_true", help="evaluate the last run once more")
    opt = p.parse_args()
    out = os.path.join(BUILD, "bochs/bench")
    folder = os.path.join(BUILD, "bench")
    rc = 0
    if not opt.again:
        if missing_images():
            print(f"bench: {', '.join(missing_images())} missing: run `make images`", file=sys.stderr)
            return 1
        lay_out(out)
        rc = boot(out, opt.marked, opt.timeout)
    try:
        f = Figures(out)
        result = text(f)
    except (KeyError, ValueError, FileNotFoundError) as e:
        print(f"bench: a figure is missing: {e}", file=sys.stderr)
        return 1
    print("\n" + result)
    with open(os.path.join(folder, "stages.md"), "w") as md:
        md.write(result)
    write_data(f, os.path.join(folder, "stages.dat"))
    plot(folder)
    return rc


if __name__ == "__main__":
    sys.exit(main())
