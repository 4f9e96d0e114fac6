# SPDX-License-Identifier: Apache-2.0
"""Measures the mix of calls of Caffe's Neuron layer tests, as a paper traced it, over every way."""
import collections

import vmhost
from report import (Environment, Missing, clock, items, median, number, pick, plot, say, script, spread, table, version,
                    wrap, write_data)

TITLE = "The Neuron mix"
EMULATED = [("direct", "no Wormhole: the driver in the process"), ("vmfunc", "vmfunc"),
            ("strict", "vmfunc, exits forced (`--barrier=strict`)"),
            ("gate", "vmfunc, a system call in each request, by the gate"),
            ("handoff", "vmfunc, a system call in each request, by handoff"),
            ("loopback", "loopback: marshalling in the process"), ("shm", "shm, server in the client VM"),
            ("inline", "a forwarder's work in one process"), ("notify_unix", "shared memory, notified by a Unix socket"),
            ("unix", "Unix socket")]
ASKING = "/usr/lib/wormhole/libasking.so"
SHORT = {"direct": "no Wormhole", "strict": "exits forced", "gate": "gate", "notify": "memory, TCP tells", "notify_unix": "memory, socket tells", "unix": "Unix socket", "tcp": "TCP",
         "inline": "forwarder's work"}        # in figures
# These run on two processors, with one VM on each.
EMULATED_2 = [("none", "vmfunc"), ("companion", "vmfunc, a system call in each request, by the companion")]
NATIVE = [("native", "native: the driver in the process"), ("loopback", "loopback: marshalling in the process"),
          ("shm", "shm"), ("inline", "a forwarder's work in one process"),
          ("notify", "shared memory, notified by TCP"), ("tcp", "TCP")]
FORWARDERS = ("inline", "notify", "tcp", "notify_unix", "unix")     # their baseline is `inline`
FEW, MANY = 500, 10500          # as in bench/job/run
TICK = 0.01                     # seconds of the host's counters of CPU time


def order(kinds):
    """Kinds that change the workers' driver come last, since the change stays."""
    return [k for k in kinds if k not in ("gate", "handoff")] + [k for k in kinds if k in ("gate", "handoff")]


# --- In the emulated host ------------------------------------------------------------

class Emulated:
    """The output of bench/job/run for each way: the difference between a run of many calls and one of few."""
    many = MANY

    def __init__(self, data):
        self.data = data
        self.said = collections.defaultdict(dict)
        for name, word, *rest in data.get("said"):
            self.said[name][word] = rest
        self.cpu = {(w[0], w[1]): [int(x) for x in w[2:]] for w in data.get("cpu")}

    def has(self, way):
        return all("rate" in self.said[f"neuron_{way}_{n}"] for n in (FEW, self.many))

    def each(self, way):
        """Return the time of a call by the program's clock."""
        few, many = (n / float(self.said[f"neuron_{way}_{n}"]["rate"][0]) for n in (FEW, self.many))
        return clock()[0] * (many - few) / (self.many - FEW)

    def crossings(self, way):
        few, many = (self.said[f"neuron_{way}_{n}"] for n in (FEW, self.many))
        for word in ("wormhole:", "crossed:"):
            if word in many:
                return (int(many[word][0]) - int(few[word][0])) / (self.many - FEW)
        return 0.0

    def counted(self, way, group):
        return sum(sum(self.data.counters(f"neuron_{way}_{n}", group).values()) * sign
                   for n, sign in ((self.many, 1), (FEW, -1)))

    def used(self, way):
        """Return seconds of CPU time of the calls: the client's vCPU, the server's, and the rest of the host."""
        grew = {n: [b - a for a, b in zip(self.cpu["before", f"neuron_{way}_{n}"],
                                          self.cpu["after", f"neuron_{way}_{n}"])] for n in (FEW, self.many)}
        whole, idle, client, meanwhile = (b - a for a, b in zip(grew[FEW], grew[self.many]))
        server = sum((self.cpu["rested", f"neuron_{way}_{n}"][3] - self.cpu["before", f"neuron_{way}_{n}"][3]) * sign
                     for n, sign in ((self.many, 1), (FEW, -1)))
        # The worker may end before or after this sample, so its end must not count as the
        # rest of the host's time.
        rest = (whole - idle) * TICK - (client + meanwhile) / 1e9
        return client / 1e9, server / 1e9, rest

    def elapsed(self, way):
        return (self.many - FEW) * self.each(way) / clock()[0]


def share(used, elapsed):
    """Return at least 0 %: a negative value comes from the counters' ticks and from the end of other programs."""
    return f"{max(0, 100 * used / elapsed):.0f} %"


def emulated_rows(e, ways, compare=True):
    """Show each way beside its baseline: the first way, or `inline` for forwarders. `compare` shows times, too."""
    for way, words in ways:
        if not e.has(way):
            yield [words] + ["not run"] + [""] * (8 if compare else 6)
            continue
        base = "inline" if way in FORWARDERS and e.has("inline") else ways[0][0]
        each, than = e.each(way), e.each(base)
        crossings = e.crossings(way)
        more = [number(each - than), f"{max(0, 100 * (each - than) / each):.1f} %"] if compare else []
        yield [words, number(each), *more, f"{crossings:.3f}", f"{e.counted(way, 'exits') / (MANY - FEW):.3f}",
               f"{e.counted(way, 'handoffs') / (MANY - FEW):.3f}",
               *(share(u, e.elapsed(way)) for u in e.used(way))]


HEADS = ["a call", "more", "overhead share", "crossings a call", "exits a call", "handoffs a call",
         "client's vCPU", "server's vCPUs", "rest of the host"]


def emulated_text():
    kinds = [w for w, _ in EMULATED]
    one = Emulated(vmhost.run("bench-neuron", "run", more=["others.list"], BACKEND=ASKING, partly=True, marks=False,
                              KINDS=" ".join("neuron_" + k for k in order(kinds))))
    two = Emulated(vmhost.run("bench-neuron-2", "run", more=["others.list"], cpus=2, BACKEND=ASKING, partly=True, marks=False,
                              KINDS=" ".join("neuron_" + k for k, _ in EMULATED_2)))
    if not one.has("direct"):
        raise Missing("not even the driver in the process ran the mix: see above")
    unit = clock()[1]
    write_data("neuron_emulated", [["way", "a call", "in words"]] +
               [[SHORT.get(w, w), one.each(w), number(one.each(w))] for w, _ in EMULATED if one.has(w)])
    return one, "\n\n".join([
        "### In the emulated VMX host",
        wrap(f"Measured: {unit} of a call by the program's own clock, which counts everything that runs meanwhile. "
             f"Each figure is the difference of a run of {number(MANY)} calls and one of {FEW}, so that no start is in "
             "it. The worker's driver is softgpu, which asks its kernel nothing. In the ways that say so it asks one "
             "thing in each copy and launch (`bench/asking.c`)."),
        items("*More* is what a call takes more than without Wormhole; *overhead share* is its part of the whole. Of "
              "forwarders the baseline is their own work in one process.",
              "Crossings, exits and handoffs come from the same difference. Exits are those in the view, also of the "
              "host's own interrupts.",
              "The last columns are CPU time by who used it, of the time that the calls took: 100 % is a processor. "
              "The rest of the host has ticks of 10 ms, and what looks at the VMs is in it.",
              "What is in the client VM alone (loopback, shm, forwarders with their servers) shares its one vCPU. Its "
              "kernel has no TCP, and Unix sockets stand in its place."),
        "On one processor:",
        table(["way", *HEADS], emulated_rows(one, EMULATED)),
        wrap("On two processors, the client VM is on one of them and the server VM on the other. The two share a clock "
             "that advances by the mean of what both did, and a halted processor counts for its whole turn "
             "(`tests/bochs/README.md`). So a call beside an idle server takes more of that clock than one beside a "
             "helper thread (*companion*) that works, and the two rows cannot be subtracted. The table shows that no "
             "call is handed off, and what the helper thread's CPU does:"),
        table(["way", HEADS[0], *HEADS[3:]], emulated_rows(two, EMULATED_2, compare=False)),
        plot("neuron_emulated", "bars", "Instructions of a call of the Neuron mix in the emulated host, by each way",
             unit=f"{unit} of a call (logarithmic)"),
        wrap("The Wormhole paper's prototype had an overhead share of 20 % in cycles, and GVirtuS by shared memory and "
             "TCP one of 88 %. The native program used 97 % of one CPU, the prototype 100 % of one, and GVirtuS two "
             "CPUs.")])


# --- On this machine -------------------------------------------------------------------

# CPU times of client and server, and of their user mode and kernel.
USED = ("client_user", "client_kernel", "server_user", "server_kernel")
# Per cent of a CPU in the Wormhole paper, of which this has no division.
PAPER_USE = [("paper: native", 97), ("paper: prototype", 100), ("paper: GVirtuS", 200)]
Turn = collections.namedtuple("Turn", ("calls", "ns", "requests", *USED, "elapsed"))


def native_turns(turns, count):
    say(f"the Neuron mix on this machine, {turns} turns")
    found = collections.defaultdict(list)
    for line in script("neuron.sh", turns, count).splitlines():
        word, world, *figures = line.split()
        if word == "neuron":
            found[world].append(Turn(*map(float, figures)))
    return found


def use(turns):
    """Return per cent of a CPU, by USED."""
    return [100 * median([getattr(t, u) / t.elapsed for t in turns]) for u in USED]


def use_figure(found):
    rows = [["way", *(u.replace("_", ": ") for u in USED), "not divided", "sum"]]
    rows += [[SHORT.get(world, world), *use(found[world]), 0, f"{sum(use(found[world])):.0f} %"]
             for world, _ in NATIVE]
    rows += [[words, 0, 0, 0, 0, percent, f"{percent} %"] for words, percent in PAPER_USE]
    write_data("neuron_use", rows)
    return plot("neuron_use", "stacked", "CPU use of the Neuron mix on this machine, and the paper's",
                unit="per cent of a CPU", parts=len(USED) + 1)


def native_text():
    count = pick(20000, 200000)
    found = native_turns(pick(1, 5), count)
    rows, data = [], [["way", "ns a call", "in words"]]
    for world, words in NATIVE:
        turns = found[world]
        base = [t.ns for t in found["inline" if world in FORWARDERS else "native"]]
        ns = median([t.ns for t in turns])
        low, mid, high = spread([t.ns / b for t, b in zip(turns, base)])
        rows.append([words, number(ns), f"{mid:.2f}", f"{low:.2f} to {high:.2f}", f"{100 * (1 - 1 / mid):.1f} %",
                     f"{median([t.requests for t in turns]) / count:.3f}",
                     *(f"{percent:.0f} %" for percent in use(turns)),
                     number(median([t.elapsed for t in turns]) / 1e3, 2)])
        data.append([SHORT.get(world, world), ns, number(ns)])
    write_data("neuron", data)
    return "\n\n".join([
        "### On this machine, without VMs",
        wrap(f"Measured: {number(count)} calls, each way in turns (`bench/neuron.sh`), in nanoseconds of a call by the "
             "program's clock. *Of baseline* is the median of the ratios to native's turn, *turns* their spread. Of "
             "forwarders the baseline is their own work in one process. CPU use is of the whole run, start included, "
             "as a part of the time that it took. It is the program's, and that of the server with its workers, in "
             "user mode and in the kernel. 100 % is a CPU. Forwarders are a small program of our own "
             "(`bench/mix.c`), which sends every call to the server."),
        table(["way", "ns a call", "of baseline", "turns", "overhead share", "crossings a call", "client: user",
               "kernel", "server: user", "kernel", "seconds"], rows),
        plot("neuron", "bars", "Nanoseconds of a call of the Neuron mix on this machine",
             unit="nanoseconds of a call (logarithmic)"),
        use_figure(found)])


def section():
    env = Environment()
    e, emulated = emulated_text()
    native = native_text()
    return "\n\n".join([
        env.text(f"Bochs 3.0 with our patches ({e.data.versions()})",
                 f"gnuplot {version('gnuplot', '--version')}"),
        wrap("`tests/programs/neuron.cu` makes 1,096,835 calls, spread evenly: 290,122 cudaMemcpy of 480 bytes, "
             "268,537 seeds and 268,536 offsets of a cuRAND generator, 142,394 launches and 127,246 "
             "cudaPeekAtLastError. The driver is softgpu, so handlers take what an interpreter takes."),
        emulated, native])
