# SPDX-License-Identifier: Apache-2.0
"""A cost model of calls: counts from the emulated host, and published costs."""
import os

import model
import record
import vmhost
from parts import calls
from report import Environment, has_vmx, items, median, number, plot, table, version, wrap, write_data

TITLE = "A model of a call's cycles"
COUNTS = ["instruction", "vmfunc", "exit", "fsgsbase", "code_lines", "data_lines", "code_pages", "data_pages",
          "l1", "tlb", "walk"]
HEADS = ["instructions", "VMFUNC", "exits", "FS/GS", "code lines", "data lines", "code pages", "data pages",
         "L1 lacks", "TLB lacks", "walks"]


# These are the short words for the figure.
SHORT = [("forced", "exits forced"), ("no ", "no Wormhole"), ("ibpb", "ibpb")]


def counted(path):
    """Return the medians of each marked kind's COUNTS, without the first call and disturbed calls."""
    found, machine = {}, {}
    for what, records in record.calls(path):
        # Programs run one after the other; the upper bits of `what` name the process.
        m = machine.setdefault(what, model.Machine())
        n = m.count(records)
        disturbed = any(r[0] == "X" and record.EXITS.get(r[4]) in record.HOST_EXITS for r in records)
        found.setdefault(what, []).append((disturbed, n))
    return {what: medians(all_of_it[1:]) for what, all_of_it in found.items()}


def medians(samples):
    good = [n for disturbed, n in samples if not disturbed] or [n for _, n in samples]
    return {k: median([n[k] for n in good]) for k in COUNTS}


def rows(data):
    """Yield (name, call, way, counts) of each kind."""
    names = {w[0]: int(w[1]) for w in data.get("marked")}
    by_number = counted(os.path.join(data.path, "record"))
    for kind, words in calls.KINDS:
        for prefix, way in calls.EMULATED:
            name = calls.full_name(prefix, kind)
            if name in names and names[name] in by_number:
                yield name, words, way, by_number[names[name]]


def cost_table():
    return table(["what", "cycles, least", "most", "from"],
                 [[c.words, f"{c.low:.2g}" if c.low < 1 else number(c.low), number(c.high), c.source]
                  for c in model.COSTS.values()])


def count_table(found):
    return table(["call", "way", *HEADS],
                 [[words, way] + [number(n[k]) for k in COUNTS] for _, words, way, n in found])


def cycle_table(found, measured):
    lines, base = [], {}
    for name, words, way, n in found:
        low, high = model.cycles(n)
        if way == calls.EMULATED[0][1]:
            base[words] = low, high
        added = "" if words not in base or way == calls.EMULATED[0][1] else \
            f"{number(low - base[words][0])} to {number(high - base[words][1])}"
        lines.append([words, way, f"{number(low)} to {number(high)}", added,
                      number(measured.whole(name)) if measured else "not run"])
    return table(["call", "way", "model, cycles", "more than without Wormhole", "measured, cycles"], lines)


def figure(found):
    data = [["call", "instructions", "VMFUNC", "exits", "FS/GS", "caches, TLBs", "least", "most"]]
    for _, words, way, n in found:
        short = next((short for word, short in SHORT if word in way), "vmfunc")
        mid = {k: n[k] * (c.low + c.high) / 2 for k, c in model.COSTS.items()}
        low, high = model.cycles(n)
        data.append([f"{words}, {short}", mid["instruction"], mid["vmfunc"], mid["exit"], mid["fsgsbase"],
                     mid["l1"] + mid["tlb"], low, high])
    write_data("model", data)
    return plot("model", "model", "A model of a call's cycles, by what they are spent on, with its spread")


def section():
    env = Environment(timed=False)
    kinds = "null vmfunc direct ibpb strict"
    data = vmhost.run("bench-model", "run", emulated=True, KINDS=kinds)
    found = list(rows(data))
    measured = calls.Emulated(vmhost.run("bench-measured", "run", KINDS="baseline " + kinds)) if has_vmx() else None
    return "\n\n".join([
        env.text(f"Bochs 3.0 with our patches and instrumentation ({data.versions()})",
                 f"gnuplot {version('gnuplot', '--version')}"),
        "**This is a model, and no measurement.** The emulated host counts, of all who run in a call:",
        items("instructions, VMFUNCs that did not exit, and exits but the host's own interrupts;",
              "the lines of 64 bytes and the pages of 4 KiB that a call touches, in code and data."),
        wrap("Over these accesses `bench/model.py` simulates a first cache of 32 KiB for code and data each, TLBs of "
             "64 entries each, and one of 1,536 entries behind them. *Lacks* are what a call that follows its like "
             "finds missing there, *walks* what both TLBs lack. Translations are taken for tagged by EPT root and CR3. "
             "The table has medians of calls without an interrupt."),
        count_table(found),
        "The costs, each with its spread and its source:", cost_table(),
        wrap("The model is the sum of counts by costs, from the least costs to the most. It leaves out misses of the "
             "second cache, walks, mispredicted branches and mitigations at exits. It also leaves out that a processor "
             "waits for VMFUNC with what came before. *Measured* is what the same harness measures on a host with VMX; "
             "no such host was there." if not has_vmx() else "The model is the sum of counts by costs, beside what this host measured."),
        cycle_table(found, measured), figure(found)])
