# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of a pair over vmfunc if 0 to 63 others exist, in the emulated host."""
import os

from report import OUT, Environment, items, number, plot, say, script, table, version, wrap

TITLE = "Scaling over vmfunc: pairs"
PAIRS = [1, 2, 4, 8, 16, 32, 64]


def pairs():
    """Return the lines of attach.c: pair, register and TAKE, ATTACH, first call, next, tables, pages, KiB, KiB."""
    say("64 pairs in the emulated VMX host")
    script("attach.sh", seconds=700)
    with open(os.path.join(OUT, "attach.dat")) as f:
        return [[int(w) for w in line.split()] for line in f]


def pairs_text(lines):
    rows = [[r[0], number(r[1]), number(r[2]), number(r[3]), number(r[4]), number(r[5] * 4), number(r[7] + r[8])]
            for r in lines if r[0] in PAIRS]
    kib = sum(r[7] + r[8] for r in lines) / len(lines)
    return "\n\n".join([
        wrap("Measured: instructions of all parties, and memory, of the n-th pair. `bench/attach.c` has two small VMs "
             "with the selftests' library. Each worker has four slots and has touched 256 MiB in 4 KiB pages. The "
             "client has touched its trampoline, world page and slot, as the stub has, so that KVM knows these pages."),
        items("*Before* is what worker and KVM do before the client comes: register and the first TAKE.",
              "*ATTACH* is by the client's TSC.", "The *first call* arms the pair.",
              "The *next call* is the baseline: what a call takes without any of this.",
              "Memory is what the host has less of afterwards."),
        table(["pair", "before", "ATTACH", "first call", "next call", "tables of the view, KiB", "host memory, KiB"],
              rows),
        plot("attach", "attach", "Instructions and memory of a pair by the number of pairs"),
        f"{len(lines)} pairs take {number(kib)} KiB of host memory each. ATTACH and first call of one pair take at "
        f"most {number(max(r[2] + r[3] for r in lines))} instructions."])


def section():
    env = Environment(timed=False)
    text = pairs_text(pairs())
    return "\n\n".join([env.text(f"Bochs 3.0 with our patches, gnuplot {version('gnuplot', '--version')}"), text])
