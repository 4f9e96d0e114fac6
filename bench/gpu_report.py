#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make -C bench gpu-record`: makes RESULTS-gpu.md and the plots from the files of gpu.sh.

Reads build/bench/gpu/*.txt. If a part did not run, or a program failed in a world, the
report says that it is missing; nothing is filled in.
"""
import os
import shutil
import statistics
import sys
import textwrap

from draw import draw

TOP = os.environ.get("WH_TOP") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("WH_BUILD") or os.path.join(TOP, "build")
DATA = os.path.join(BUILD, "bench/gpu")
PLOTS = os.path.join(TOP, "bench/plots")
WORLDS = ["native", "loopback", "shm"]

# Lupine of 2026-08-21 was measured on an H200 (driver 580.159, CUDA 13.0) on 2026-11-20, in
# a run of its own. Its server was on the same machine, over TCP.
LUPINE = {"launch_issued": 5.4, "launch_and_sync": 59.6, "peek_at_last_error": 0.019,
          "event_record": 4.3, "memcpy_4k_to_device": 56.2, "memcpy_4k_to_host": 57.0}
# HAMi-core of 2026-06-30 in that run: {limit: {kernel us: share that was really taken}}.
HAMI = {30: {"100": 0.708, "2000": 1.008, "50000": 0.915},
        50: {"100": 1.069, "2000": 0.966, "50000": 0.929}}


def lines(part):
    path = os.path.join(DATA, part + ".txt")
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [l.rstrip("\n") for l in f if not l.startswith("run ")]


def run_of(part):
    """Read `run DATE COMMIT [WHICH ROWS]`: parts, and the rows of one part, may come from different runs."""
    with open(os.path.join(DATA, part + ".txt")) as f:
        runs = [l.split(None, 3)[1:] for l in f if l.startswith("run ")]
    return "".join(f"Run of {r[0]}, commit {r[1]}{': ' + r[2].strip() if r[2:] else ''}.\n\n"
                   for r in runs)


def failures(part):
    return [l[2:] for l in lines(part) if l.startswith("# ") and " failed: " in l]


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(out + ["| " + " | ".join(r) + " |" for r in rows])


def wrap(text):
    """Lines of prose of at most 118 columns; tables and pictures as they are."""
    return "\n".join(l if l.startswith(("|", "!")) else textwrap.fill(l, 118, break_on_hyphens=False)
                     for l in text.split("\n"))


def ratio(a, b):
    return f"{a / b:.3f}" if a and b else ""


def section(title, part, body):
    missing = "".join(f"\n- missing: {f}" for f in failures(part))
    if not lines(part):
        return f"## {title}\n\nNot run.\n"
    return f"## {title}\n\n{run_of(part)}{body()}\n{missing}".rstrip("\n") + "\n"


# --- Calls ------------------------------------------------------------------------

def call_figures():
    """Return {name: {world: (min, median, p99)}} in microseconds, and rates {name: {world: n}}."""
    figures, rates = {}, {}
    for l in lines("calls"):
        w = l.split()
        if len(w) == 8 and w[1] == "bench":
            figures.setdefault(w[2], {})[w[0]] = tuple(float(x) / 1000 for x in w[5:8])
        elif len(w) == 5 and w[1] == "rate":
            rates.setdefault(w[2], {})[w[0]] = float(w[4])
    return figures, rates


def us(x):
    return f"{x:.3f}" if x < 1 else f"{x:.2f}"


def calls():
    figures, rates = call_figures()
    rows = []
    for name, by in figures.items():
        cells = [f"{us(by[w][1])} ({us(by[w][0])}, {us(by[w][2])})" if w in by else "" for w in WORLDS]
        native = by.get("native", (0, 0, 0))[1]
        extra = [f"{by[w][1] - native:+.2f}" if w in by and native else "" for w in WORLDS[1:]]
        rows.append([f"`{name}`"] + cells + extra + [us(LUPINE[name]) if name in LUPINE else ""])
    text = table(["µs: median (min, p99)"] + WORLDS + ["loopback adds", "shm adds", "Lupine¹"], rows)
    rate = table(["launches per second"] + WORLDS + ["loopback / native", "shm / native"],
                 [[n] + [f"{by[w]:,.0f}" if w in by else "" for w in WORLDS] +
                  [ratio(by.get(w), by.get("native")) for w in WORLDS[1:]] for n, by in rates.items()])
    return (text + "\n\n¹ Lupine of 2026-08-21, measured on 2026-11-20 in a run of its own on an H200 with driver "
            "580.159. Its server was on the same machine, over TCP loopback. The figures are medians.\n\n" + rate +
            "\n\n![Time per call](plots/calls.svg)")


# --- Training and the Neuron mix ----------------------------------------------------

def turns(part, word, width):
    """Return {name: {world: figures of all its turns}}, from lines `WORLD WORD [NAME] UNIT FIGURE`."""
    out = {}
    for l in lines(part):
        w = l.split()
        if len(w) == width and w[1] == word:
            out.setdefault(w[2], {}).setdefault(w[0], []).append(float(w[-1]))
    return out


def medians(by):
    return {w: statistics.median(v) for w, v in by.items()}


def quotient(ours, native):
    """Return the median of the rounds' quotients, and the 95 % interval of that median by ranks."""
    q = sorted(a / b for a, b in zip(ours, native))
    reach = round(0.98 * len(q) ** 0.5)
    low, high = max(len(q) // 2 - reach, 0), min((len(q) - 1) // 2 + reach, len(q) - 1)
    return statistics.median(q), q[low], q[high]


def train_quotients():
    """Return {name: {world: (median, low, high)}}. Figures with the same index are of one round."""
    return {name: {w: quotient(by[w], by["native"]) for w in WORLDS if w in by}
            for name, by in turns("train", "train", 5).items() if "native" in by}


def train():
    quotients = train_quotients()
    rows = []
    for name, by in turns("train", "train", 5).items():
        mid = medians(by)
        rows.append([name, str(len(by.get("native", [])))] + [f"{mid[w]:,.1f}" if w in by else "" for w in WORLDS] +
                    ["{:.3f} ({:.3f} to {:.3f})".format(*quotients[name][w])
                     if w in quotients.get(name, {}) else "" for w in WORLDS[1:]])
    return (table(["images per second", "rounds"] + WORLDS + ["loopback / native", "shm / native"], rows) +
            "\n\nLeNet has 100 images a step, AlexNet 64. Three processes train on one CPU, and the workers have other "
            "CPUs. They take turns of about 90 ms (AlexNet: 150). Rates are medians of all turns. Quotients are "
            "medians of the rounds' quotients, with the interval that holds that median with 95 %.\n\n"
            "Targets: 0.98 over loopback, 0.95 over shm.\n\n![Training](plots/train.svg)")


def whole_runs():
    """Return {name: {world: (iterations, digest, seconds)}}."""
    out = {}
    for l in lines("whole"):
        w = l.split()
        if len(w) == 7 and w[1] == "whole":
            out.setdefault(w[2], {})[w[0]] = int(w[3]), w[4], float(w[6])
    return out


def whole():
    rows = []
    for name, by in whole_runs().items():
        seconds = {w: by[w][2] if w in by else None for w in WORLDS}
        same = len({(n, digest) for n, digest, _ in by.values()}) == 1
        rows.append([name, f"{max(n for n, _, _ in by.values()):,}",
                     *(f"{s:.1f}" if s else "" for s in seconds.values()),
                     *(ratio(seconds[w], seconds["native"]) for w in WORLDS[1:]), "equal" if same else "differ"])
    return (table(["seconds", "iterations", *WORLDS, "loopback / native", "shm / native", "losses and weights"], rows) +
            "\n\nThe Wormhole paper trained LeNet and AlexNet as often. LeNet has 100 images a step, AlexNet 64. Each "
            "program ran once, from its start to its end, natively first. All losses and the weights are compared "
            "to the last bit.\n\n![Whole trainings](plots/whole.svg)")


def layers():
    """Report the programs layers and layers_dnn: ns of a step, for each world in each turn."""
    crossed, hashes, rows = {}, {}, []
    turns_of = {}
    for l in lines("layers"):
        w = l.split()
        if len(w) == 6 and w[1] in ("layers", "layers_dnn"):
            turns_of.setdefault((w[1], w[2]), {}).setdefault(w[0], []).append(float(w[3]))
            hashes.setdefault((w[1], w[2]), set()).add(w[5])
        elif len(w) == 4 and w[1].startswith("crossings_"):
            crossed[w[1][len("crossings_"):], w[2]] = w[3]
    for key, by in turns_of.items():
        mid = medians(by)
        native = by.get("native", [])
        rows.append([f"{key[1]}, {'cuDNN' if key[0] == 'layers_dnn' else 'own kernels, cuBLAS'}"] +
                    [f"{mid[w] / 1000:,.1f}" if w in by else "" for w in WORLDS] +
                    ["{:.3f} ({:.3f} to {:.3f})".format(*quotient(by[w], native)) if w in by and native else ""
                     for w in WORLDS[1:]] +
                    [crossed.get(key, ""), "yes" if len(hashes[key]) == 1 else "no"])
    return (table(["µs of a step"] + WORLDS + ["loopback / native", "shm / native", "requests a step",
                                              "same bits everywhere"], rows) +
            "\n\nA step of `bench/layers.cu` is 4 images or sequences to the device, forward, backward, and the result back.")


def crossings():
    sent = {}
    rate = medians(turns("crossings", "neuron", 4).get("calls/s", {}))
    for l in lines("crossings"):
        w = l.split()
        if len(w) == 4 and w[1] == "crossings":
            sent.setdefault(w[0], []).append((int(w[2]), int(w[3])))
    rows = []
    for w in WORLDS:
        s = sorted(sent.get(w, []))
        per = f"{(s[-1][1] - s[0][1]) / (s[-1][0] - s[0][0]):.3f}" if len(s) > 1 else ""
        rows.append([w, per, f"{rate[w]:,.0f}" if w in rate else ""])
    return (table(["Neuron mix", "requests to the worker per call", "calls per second, median of the turns"], rows) +
            "\n\nThe mix is `tests/programs/neuron.cu`. Target: 0.4 requests per call.")


# --- Copies -----------------------------------------------------------------------------

def copy_figures():
    out = []
    for l in lines("copy"):
        w = l.split()
        if len(w) == 6 and w[0] != "GB/s" and w[0].rsplit("_", 1)[-1].isdigit():
            kind, size = w[0].rsplit("_", 1)
            out.append((kind, int(size), [float(x) for x in w[1:4]]))
    return out


def copies():
    rows = [[f"{k}, {s:,}"] + [f"{x:.4g}" for x in v] + [ratio(v[1], v[0]), ratio(v[2], v[0])]
            for k, s, v in copy_figures() if s in (4, 4096, 1 << 20, 64 << 20, 256 << 20, 1 << 30)]
    return (table(["GB/s: kind, bytes"] + WORLDS + ["loopback / native", "shm / native"], rows) +
            "\n\nTarget: 0.95 from 1 MB up.\n\n![Copies](plots/copy.svg)")


# --- Shares -------------------------------------------------------------------------------

def share_figures():
    """Return (tenants, percent asked, kernels, part of the work, part of the device's time or None)."""
    return [(w[0], int(w[2]), w[3], float(w[4]), float(w[5]) if w[5:] else None)
            for w in map(str.split, lines("share")) if len(w) in (5, 6) and w[1] == "share"]


def shares():
    rows = []
    for who, percent, kernels, got, time in share_figures():
        hami = HAMI.get(percent, {}).get(kernels) if who == "one" else None
        rows.append([f"{who}, {kernels} µs", f"{percent}", f"{100 * got:.1f}",
                     f"{100 * got - percent:+.1f}", f"{100 * time:.1f}" if time else "",
                     f"{100 * hami:.1f}" if hami else ""])
    return (table(["tenants, kernels", "share asked, %", "work, %", "error, points",
                   "device's time, %", "HAMi-core²"], rows) +
            "\n\n`bench/share.sh` measures *work*: the work done in the time, divided by that of a tenant without "
            "limit, both over shm. Of two tenants, each runs beside the other in the line before or after. Target: 2 "
            "points in the long run. `spatial` is a part of the SMs, in groups of 8."
            "\n\nLaunches of 3 µs take longer than their kernels, so their work is as fast as the CPU. That differs by "
            "10 % and more from second to second. The device's time, as `wormhole stat` counts it, does not."
            "\n\n² HAMi-core of 2026-06-30, measured on 2026-11-20 in a run of its own on such a machine. One process "
            "makes back-to-back launches for 8 s. The measure is the same."
            "\n\n![Shares](plots/share.svg)" + unlimited())


def unlimited():
    """Report launches of 3 us and work in kernels of 100 us, per second, without a share."""
    rate = {(w[1], w[2]): (float(w[3]), float(w[4])) for w in map(str.split, lines("share"))
            if len(w) == 5 and w[0] == "unlimited"}
    names = {"native": "natively", "none": "over shm, no limit", "mem": "over shm, `--mem` only"}
    rows = [[name] + ["{:,.0f} ({:+.2f} %)".format(rate[v, k][0], 100 * rate[v, k][1] - 100)
                      for k in ("3", "100")]
            for v, name in names.items() if (v, "100") in rate]
    if not rows:
        return ""
    return "\n\n" + table(["without a share of time", "launches of 3 µs each second",
                           "µs of work each second in kernels of 100 µs"], rows)


# --- Plots ----------------------------------------------------------------------------------

def write(name, rows):
    with open(os.path.join(DATA, name), "w") as f:
        for r in rows:
            f.write("\t".join(map(str, r)) + "\n")


def plot_data():
    """Write data only for plots that have figures."""
    figures, _ = call_figures()
    full = [(n, *(by[w][1] for w in WORLDS)) for n, by in figures.items() if len(by) == 3]
    names = []
    for name, rows in [
            ("calls", full),
            ("train", [(n, *(x for w in WORLDS for x in by.get(w, (0, 0, 0))))
                       for n, by in train_quotients().items()]),
            ("whole", [(n, *(by[w][2] if w in by else 0 for w in WORLDS)) for n, by in whole_runs().items()]),
            ("share", [(p, 100 * s, k, who) for who, p, k, s, _ in share_figures()
                       if who in ("one", "two")])]:
        if rows:
            names.append(name)
            write(name + ".dat", [[f'"{str(r[0]).replace("_", " ")}"', *r[1:]] for r in rows])
    copy = copy_figures()
    if copy:
        names.append("copy")
        for kind in sorted({k for k, _, _ in copy}):
            write(f"copy_{kind}.dat", [(s, *v) for k, s, v in copy if k == kind])
    return names


def plot():
    if not shutil.which("gnuplot"):
        print("no plots: gnuplot is not installed (Debian package gnuplot-nox)")
        return
    os.makedirs(PLOTS, exist_ok=True)
    for name in plot_data():
        draw(os.path.join(TOP, f"bench/gpu_{name}.gp"), f"{PLOTS}/{name}.svg", DATA)


def sections_of(page):
    """Return {title: section} of a page."""
    with open(page) as f:
        return {part.split("\n")[0]: f"## {part}".rstrip("\n") + "\n" for part in f.read().split("\n## ")[1:]}


def main():
    parts = [("Time per call", "calls", calls), ("Training", "train", train), ("Whole trainings", "whole", whole),
             ("Single layers", "layers", layers), ("Crossings", "crossings", crossings), ("Copies", "copy", copies),
             ("Shares of the GPU", "share", shares)]
    if not any(lines(part) for _, part, _ in parts):
        print(f"error: no figures in {DATA}: run bench/gpu.sh on a machine with a GPU", file=sys.stderr)
        return 1
    page = os.path.join(TOP, "bench/RESULTS-gpu.md")
    had = sections_of(page)
    sections = [section(*p) if lines(p[1]) or p[0] not in had else had[p[0]] for p in parts]
    head = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", "# Results on a GPU", "",
            "`make -C bench gpu-record` writes this page from the last runs of `bench/gpu.sh`. Each run has native beside "
            "each transport. A part that was not run again keeps what it had. Nothing here gates a test.", ""]
    with open(page, "w") as f:
        f.write(wrap("\n".join(head + sections).rstrip("\n")) + "\n")
    plot()
    return 0


if __name__ == "__main__":
    sys.exit(main())
