# SPDX-License-Identifier: Apache-2.0
"""Counts what a call takes over each transport in the emulated host, and who is woken for it."""
import collections

import record
import vmhost
from parts import calls, layers, neuron
from report import Environment, Missing, items, median, number, pick, plot, table, version, wrap, write_data

TITLE = "The transports beside each other"
AFTER, PAUSE = "null_call_after_pause", "pause"
KINDS = [*calls.KINDS, (AFTER, "null call after a pause")]
WAYS = [("direct", "no Wormhole: the driver in the process"), ("vmfunc", "vmfunc"),
        ("shm", "shm: program and worker in the host"), ("ring", "ring: program in a VM, worker in the host")]
WORDS = dict(WAYS)
# Calls of each kind by the number of CPUs. With one CPU a call over ring lasts until the host's
# scheduler takes the CPU from the VM, so a few have to do, and none is written down.
FEW, MANY, MARKED = {1: 32, 2: 256}, {1: 200, 2: 2000}, {1: 0, 2: 16}
# Who is woken, by the names of threads; QEMU calls its vCPUs "CPU 0/KVM".
WHO = [("CPU", "vCPUs"), ("qemu-system", "QEMU"), ("wormhole-relay", "relay"), ("wormhole", "worker"), ("exe", "worker")]
PARTIES = ("program", "vCPUs", "QEMU", "relay", "worker")
PARTS = (*record.PARTS, "wait")
# Per cent of the time of API calls in the Wormhole paper's Neuron layer tests, by PARTS. GVirtuS'
# notification stands as its switch.
PAPER_PARTS = [("paper: prototype", (3.65, 5.31, 10.64, 80.4, 0)), ("paper: GVirtuS", (1, 87, 0, 12, 0))]
# What of it is no work of the driver's.
PAPER = [("paper: prototype", 20), ("paper: GVirtuS", 88)]
# What took the prototype's time as a multiple with GVirtuS there: tests of layers (87.9 to 89.6 %
# less time), LeNet with 10,000 iterations, and AlexNet with 1,800.
PAPER_QUOTIENT = {"layers": (8.3, 9.6), "lenet": (5.0, 5.0), "alexnet": (1.4, 1.4)}
LENET, ALEXNET = "batch=2 width=10 steps=4", "batch=1 width=64 image=67 steps=3"


def full_name(way, kind):
    return f"{way}_null_{kind}" if "null" in kind or kind == PAUSE else f"{way}_{kind}"


def grown(counts, few, many):
    """Return what a counter grows by in a call: the counts are before, between and behind two rounds."""
    before, between, behind = counts
    return ((behind - between) - (between - before)) / (many - few)


class Counted(calls.Emulated):
    """The output of the kinds paced_* and mixed_* of bench/job/run."""

    def __init__(self, data):
        super().__init__(data)
        self.read, self.ran = collections.defaultdict(list), collections.defaultdict(list)
        for name, count in data.get("exits"):
            self.read[name, "exits"].append(int(count))
        for name, who, count in data.get("slept"):
            self.read[name, who].append(int(count))
        for name, *figures in data.get("ran"):
            self.ran[name].append([int(f) for f in figures])

    def has(self, name):
        return len(self.ran[name]) == 2 and len(self.read[name, "exits"]) == 3

    def ticks(self, name):
        """Return the median and the mean of the longer round, which have no pause in them."""
        calls_made, ticks, _, mid = self.ran[name][1]
        return mid, ticks / calls_made

    def a_call(self, name):
        """Return what grows in a call: exits, and how often each party is woken."""
        (few, _, a, _), (many, _, b, _) = self.ran[name]
        found = collections.Counter({"program": (b - a) / (many - few)})
        for (of, what), counts in self.read.items():
            who = what if what == "exits" else next((w for p, w in WHO if what.startswith(p)), None)
            if of == name and who and len(counts) == 3:
                found[who] += grown(counts, few, many)
        return found

    def without_pause(self, way, kind):
        """Return the same of a call behind a pause, without what the pause alone takes."""
        found = self.a_call(full_name(way, kind))
        if kind == AFTER:
            found.subtract(self.a_call(full_name(way, PAUSE)))
        return found

    def parts_with_wait(self, name):
        """Return the medians of PARTS, of the whole, and of what runs in user mode and in kernels."""
        found = []
        for c in self.undisturbed(name):
            parts = record.breakdown(c, calls.driver(name))
            parts["wait"] = record.waited(c)
            parts["copy"] -= parts["wait"]
            modes = {m: sum(n for (_, mode), n in c.by_mode.items() if mode == m) for m in ("user", "kernel")}
            found.append({**parts, **modes, "whole": c.total()})
        return {k: median([f[k] for f in found]) for k in found[0]}


def counted_rows(by_cpus):
    for kind, words in KINDS:
        for way, way_words in WAYS:
            for cpus, c in by_cpus.items():
                name = full_name(way, kind)
                if not c.has(name):
                    continue
                found = c.without_pause(way, kind)
                yield [words, way_words, cpus, *map(number, c.ticks(name)),
                       *(number(max(0, found[w]), 2) for w in ("exits", *PARTIES))]


def parts_rows(c):
    for kind, words in KINDS:
        for way, _ in WAYS:
            name = full_name(way, kind)
            if c.calls.get(name):
                yield words, way, c.parts_with_wait(name), c.exits(name)


def parts_table(c):
    rows = [[words, WORDS[way], *(number(p[x]) for x in (*PARTS, "whole", "user", "kernel")), exits]
            for words, way, p, (exits, _) in parts_rows(c)]
    return table(["call", "way", *PARTS, "whole", "user mode", "kernels", "exits"], rows)


def parts_figure(c, after):
    """Draw the calls behind a pause, or the others."""
    name = "transports_after" if after else "transports"
    rows = [["call", *PARTS, "sum"]]
    for words, way, p, _ in parts_rows(c):
        if (words == dict(KINDS)[AFTER]) == after:
            rows.append([f"{words}, {'no Wormhole' if way == 'direct' else way}", *(p[x] for x in PARTS),
                         number(sum(p[x] for x in PARTS))])
    write_data(name, rows)
    return plot(name, "stacked", "Instructions of a call over each transport" + (" after a pause" if after else "") +
                ", by what they are for", unit="instructions (emulated, not cycles)", parts=len(PARTS))


def shares_figure(c):
    """Draw the parts of our calls and of the paper's as per cent."""
    rows = [["call", *PARTS, "sum"]]
    for words, way, p, _ in parts_rows(c):
        if way != "direct" and not words.startswith("null"):
            rows.append([f"{words}, {way}", *(100 * p[x] / p["whole"] for x in PARTS), ""])
    rows += [[words, *shares, ""] for words, shares in PAPER_PARTS]
    write_data("shares", rows)
    return plot("shares", "stacked", "Parts of a call over each transport, beside the paper's",
                unit="per cent of a call: instructions here, cycles in the paper", parts=len(PARTS))


class Mixed(neuron.Emulated):
    """The mix of 40 functions by the kinds mixed_*. Ways are called `mix_WAY`."""
    many = neuron.FEW + 12164       # as in bench/job/run

    def exits(self, way):
        at = {w[0]: int(w[1]) for w in self.data.get("exits")}
        few, many = (at[f"after_neuron_{way}_{n}"] - at[f"before_neuron_{way}_{n}"] for n in (neuron.FEW, self.many))
        return (many - few) / (self.many - neuron.FEW)


def mixed(by_cpus):
    rows, bars = [], []
    for cpus, c in by_cpus.items():
        m = Mixed(c.data)
        for way, words in WAYS:
            if not m.has(f"mix_{way}") or not m.has("mix_direct"):
                continue
            each, base = m.each(f"mix_{way}"), m.each("mix_direct")
            over = max(0, 100 * (each - base) / each)
            more = [number(each - base), f"{over:.1f} %"] if cpus == 1 else ["", ""]
            rows.append([words, cpus, number(each), *more,
                         f"{m.crossings('mix_' + way):.3f}", f"{m.exits('mix_' + way):.3f}"])
            if way != "direct" and cpus == 1:
                bars.append([f"{way}, 1 CPU", over, f"{over:.0f} %"])
    bars += [[words, over, f"{over} %"] for words, over in PAPER]
    write_data("overhead", [["way", "overhead", "in words"], *bars])
    return "\n\n".join([
        table(["way", "CPUs", "a call", "more", "overhead share", "crossings a call", "exits a call"], rows),
        plot("overhead", "bars", "Part of a call of the mix that is overhead, beside the paper's",
             unit="per cent of a call: instructions here, cycles in the paper", most=115)])


def quotients(rows_of, names):
    """Return the bars of one kind of work: ours, from the least to the most, and the paper's."""
    ours = [each["ring"] / each["vmfunc"] for each in rows_of if each["ring"] and each["vmfunc"]]
    bars = []
    for words, found in ((f"{names[0]}: ring", ours), (f"{names[0]}, paper: GVirtuS", PAPER_QUOTIENT[names[1]])):
        if found:
            text = f"{min(found):.2f}" + (f" to {max(found):.2f}" if max(found) > min(found) else "")
            bars.append([words, max(found), text])
    return bars


def trained(c):
    """Show layers and training over each transport, and `ring` beside the paper's forwarder."""
    e = layers.Emulated(c.data)
    different = [layer for layer in layers.LAYERS if len(e.hash[layer]) != 1]
    if different:
        raise Missing(f"results differ from way to way, or there are none: {', '.join(different)}")
    steps = [(layers.nice(n), {w: e.step(w, n) for w, _ in WAYS}) for n in layers.LAYERS]
    images = [(f"{words}, an image", {w: e.image(w, n) for w, _ in WAYS}) for n, words in layers.NETWORKS]
    rows = [[words, *(number(x) if x else "not run" for x in each.values()),
             *(layers.of_base(each[w], each["direct"]) for w, _ in WAYS[1:])] for words, each in steps + images]
    bars = quotients([each for _, each in steps], ("Layers", "layers"))
    for (name, words), (_, each) in zip(layers.NETWORKS, images):
        bars += quotients([each], (words, name))
    write_data("training", [["way", "quotient", "in words"], *bars])
    return "\n\n".join([
        table(["a step", *("none" if w == "direct" else w for w, _ in WAYS), *(f"{w} / none" for w, _ in WAYS[1:])],
              rows),
        plot("training", "bars", "Layers and training over a forwarder, as a multiple of VMFUNC's, beside the paper's",
             unit="by forwarding / by VMFUNC: instructions here, time in the paper", most=12)])


def emulated(cpus):
    does = ("paced", "mixed", "trained") if cpus == 1 else ("paced", "mixed")
    kinds = [f"{k}_{w}" for k in does for w in ("vmfunc", "direct", "shm", "ring")]
    return Counted(vmhost.run(f"bench-transports-{cpus}", "run", more=["layers.list"],
                              host=["host.list", "layers.list"], cpus=cpus, emulated=True, partly=True, timeout=2400,
                              BACKEND="", args="kvm_intel.enable_apicv=0", marks=bool(MARKED[cpus]),
                              KINDS=" ".join(kinds), STEPS=2, LENET=LENET, ALEXNET=ALEXNET, CLIENT_MIB=256,
                              ROUNDS=f"{FEW[cpus]},{pick(2 * FEW[cpus], MANY[cpus])},{MARKED[cpus]}"))


def section():
    env = Environment(timed=False)
    by_cpus = {cpus: emulated(cpus) for cpus in (1, 2)}
    return "\n\n".join([
        env.text(f"Bochs 3.0 with our patches and instrumentation ({by_cpus[2].data.versions()})",
                 f"gnuplot {version('gnuplot', '--version')}"),
        wrap("The same programs, handlers and driver run over each transport in one emulated host. `ring` is also what "
             "a forwarder between VM and host can be at its best: requests in shared memory, both sides poll, and only "
             "who sleeps is woken. What a forwarder by sockets takes is in the sections on a call and on the Neuron "
             "mix. Times of these ways would be those of an emulator, so there are none."),
        "### Instructions, exits and wake-ups of a call",
        wrap("Measured: instructions by the clock of the program's CPU, which counts all that runs there meanwhile, "
             f"also polling: median and mean. The others are the difference between two rounds, of {FEW[2]} and of "
             f"{number(MANY[2])} calls ({FEW[1]} and {MANY[1]} with one CPU), behind as many as the fewer. "
             "Launches are posted over `shm` and `ring`. A pause is 5 ms, after which a worker that polls has gone to "
             "sleep; of calls after it, an eighth as many, only the call counts."),
        items("*Exits* are those of all VMs by KVM's own counters, with the host's timer in them.",
              "The last columns say how often threads slept and were woken. They are the program's own, those of VMs "
              "(vCPUs, and the rest of QEMU), the relay's, and the server's with its workers.",
              "With two CPUs, the program or its vCPU has one of them and the worker the other.",
              "With one CPU, a VM that polls has it until the host's scheduler takes it away. `ring` and `shm` are "
              "made for hosts with a CPU to spare."),
        wrap("Two CPUs share a clock that advances by the mean of what both did, and a halted CPU counts for its whole "
             "turn (`tests/bochs/README.md`). So with two CPUs a way whose second CPU idles (no Wormhole, `vmfunc`) "
             "takes more of that clock. In no table by the clock can its time be compared with one whose worker "
             "polls there."),
        table(["call", "way", "CPUs", "median", "mean", "exits", *PARTIES],
              counted_rows(by_cpus)),
        "### What a call is spent on, with two CPUs",
        wrap("Measured: medians of marked calls, instructions of both CPUs from the call to its return. *copy*, "
             "*switch*, *FS/GS* and *handler* are those of the first section; *switch* has QEMU and the relay in it, "
             "too. *wait* is polling of stub and worker for a word of the other side. A posted launch returns before "
             "the worker is done, which then runs beside what follows. The last columns divide the whole anew: what "
             "runs in user mode and in kernels, and the exits."),
        parts_table(by_cpus[2]), parts_figure(by_cpus[2], False), parts_figure(by_cpus[2], True),
        wrap("The next picture has the parts as shares of a call, beside those of the paper's Neuron layer tests. "
             "These are of its prototype, and of GVirtuS with shared memory and TCP to notify. The notification stands "
             "as *switch*."),
        shares_figure(by_cpus[2]),
        "### The mix of 40 functions over each transport",
        wrap("`bench/mix40.cu` makes the mix of the next section with all 40 functions. The numbers of five are the "
             "paper's, 99.7 % of the calls. Of the others only their number was at hand, so they are a model: 35 "
             "functions that Caffe imports share the rest evenly, up to 1,100,000 calls."),
        wrap(f"Measured: instructions of a call by the program's clock, as the difference of a run of {neuron.FEW} "
             f"calls and one of {number(Mixed.many)}, in which each function comes. Exits have the host's timer in "
             "them. The picture has the paper's shares beside ours: its GVirtuS forwards each call, by shared memory "
             "with TCP to notify."),
        mixed(by_cpus),
        "### Layers and training over each transport, with one CPU",
        wrap("Measured: instructions of a step of each layer, and of an image in training, by the program's clock and "
             f"behind a first step. The programs are those of the section on layers (LeNet: `{LENET}`, AlexNet: "
             f"`{ALEXNET}`). Each way's layers answered the same to the last bit. softgpu interprets the kernels, so that "
             "calls are a small part of a step. The paper's tests of layers took 87.9 to 89.6 % less time with its "
             "prototype than with GVirtuS."),
        wrap("The paper trained LeNet with 10,000 iterations and AlexNet with 1,800 on a GPU. Such runs need one: they "
             "are in `bench/RESULTS-gpu.md`, and Caffe's LeNet in `bench/RESULTS-caffe.md`."),
        trained(by_cpus[1])])
