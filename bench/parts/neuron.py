# SPDX-License-Identifier: Apache-2.0
"""The mix of calls of Caffe's Neuron layer tests, as a paper traced it, over every way."""
import collections
import os
import subprocess

import vmhost
from report import (BUILD, TOP, Environment, Missing, has_vmx, median, number, pick, plot, say, spread, table,
                    version, wrap, write_data)

TITLE = "The Neuron mix"
EMULATED = [("direct", "no Wormhole: the driver in the process"), ("vmfunc", "vmfunc"),
            ("strict", "vmfunc, exits forced (`--barrier=strict`)")]
NATIVE = [("native", "native: the driver in the process"), ("loopback", "loopback: marshalling in the process"),
          ("shm", "shm")]
FEW, MANY = 500, 3500           # as in bench/job/run
TSC = 100e6                     # of the emulated machine: instructions of a CPU in its second


# --- In the emulated host ------------------------------------------------------------

class Emulated:
    def __init__(self, data):
        self.data = data
        self.said = collections.defaultdict(dict)
        for name, word, *rest in data.get("neuron"):
            self.said[name][word] = rest
        self.cpu = {(w[0], w[1]): [int(x) for x in w[2:]] for w in data.get("cpu")}

    def rate(self, way):
        return float(self.said[f"neuron_{way}_{MANY}"]["rate"][0])

    def requests(self, way):
        """Of a call, without those of the start."""
        few, many = (self.said[f"neuron_{way}_{n}"].get("wormhole:") for n in (FEW, MANY))
        return (int(many[0]) - int(few[0])) / (MANY - FEW) if many else 0.0

    def exits(self, way):
        return sum(sum(self.data.counters(f"neuron_{way}_{n}", "exits").values()) * sign
                   for n, sign in ((MANY, 1), (FEW, -1)))

    def handoffs(self, way):
        return sum(sum(self.data.counters(f"neuron_{way}_{n}", "handoffs").values()) * sign
                   for n, sign in ((MANY, 1), (FEW, -1)))

    def used(self, way):
        """Millions of instructions that both VMs' vCPUs took for the calls between few and many."""
        grew = {n: [b - a for a, b in zip(self.cpu["before", f"neuron_{way}_{n}"], self.cpu["after", f"neuron_{way}_{n}"])]
                for n in (FEW, MANY)}
        client, server = (max(0, grew[MANY][i] - grew[FEW][i]) / 1e9 * TSC / 1e6 for i in (2, 3))
        return client, server


def emulated_text():
    e = Emulated(vmhost.run("bench-neuron", "run", BACKEND="", KINDS="neuron neuron_direct neuron_strict"))
    unit = "cycles of the TSC" if has_vmx() else "instructions"
    base = TSC / e.rate("direct")
    rows = []
    for way, words in EMULATED:
        each = TSC / e.rate(way)
        client, server = e.used(way)
        rows.append([words, number(each), number(each - base), f"{100 * (each - base) / each:.1f} %",
                     f"{e.requests(way):.3f}", number(e.exits(way)), number(e.handoffs(way)),
                     f"{client:.1f}", f"{server:.1f}"])
    return e, "\n\n".join([
        "### In the emulated VMX host, on one CPU",
        wrap(f"Measured: {unit} of a call by the program's own clock, which counts everything that runs meanwhile, of "
             f"{number(MANY)} calls; *overhead share* is what is more than without Wormhole, of the whole. Crossings, "
             f"exits in the view, handoffs and the vCPUs' work are the difference to a run of {FEW} calls, so that no "
             "start is in them. Exits of the host's own interrupts are among them."),
        table(["way", "a call", "more", "overhead share", "crossings a call", "exits", "handoffs",
               "client's vCPU, M", "server's vCPUs, M"], rows),
        wrap("Wormhole's paper has an overhead share of 20 % for its prototype in cycles, and 88 % for GVirtuS by "
             "shared memory and TCP. The handlers run in the client's time; what the server's vCPUs take is the end of "
             "a program's worker and the start of the next, as far as they fall before the sample.")])


# --- On this machine -------------------------------------------------------------------

Turn = collections.namedtuple("Turn", "calls ns requests client_ms server_ms elapsed_ms")


def native_turns(turns, count):
    say(f"the Neuron mix on this machine, {turns} turns")
    done = subprocess.run([os.path.join(TOP, "bench/neuron.sh"), str(turns), str(count)], stdout=subprocess.PIPE,
                          text=True, check=False, env=dict(os.environ, WH_TOP=TOP, WH_BUILD=BUILD))
    if done.returncode:
        raise Missing("bench/neuron.sh failed: see above")
    found = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        word, world, *figures = line.split()
        if word == "neuron":
            found[world].append(Turn(*map(float, figures)))
    return found


def native_text():
    count = pick(50000, 1000000)
    found = native_turns(pick(1, 5), count)
    rows, data = [], [["way", "ns a call"]]
    for world, words in NATIVE:
        turns = found[world]
        base = [t.ns for t in found["native"]]
        ns = median([t.ns for t in turns])
        low, mid, high = spread([t.ns / b for t, b in zip(turns, base)])
        rows.append([words, number(ns), f"{mid:.2f}", f"{low:.2f} to {high:.2f}", f"{100 * (1 - 1 / mid):.1f} %",
                     f"{median([t.requests for t in turns]) / count:.3f}",
                     f"{100 * median([t.client_ms / t.elapsed_ms for t in turns]):.0f} %",
                     f"{100 * median([t.server_ms / t.elapsed_ms for t in turns]):.0f} %"])
        data.append([world, ns])
    write_data("neuron", data)
    return "\n\n".join([
        "### On this machine, without VMs",
        wrap(f"Measured: {number(count)} calls, each way in turns (`bench/neuron.sh`); nanoseconds of a call by the "
             "program's clock, the median of the ratios to native's turn, and their spread. CPU use is of the whole "
             "run, start included, of the time that it took: program, and server with its workers; 100 % is a CPU."),
        table(["way", "ns a call", "of native", "turns", "overhead share", "crossings a call", "client's CPU",
               "server's CPU"], rows),
        plot("neuron", "neuron", "Nanoseconds of a call of the Neuron mix on this machine")])


def section():
    env = Environment()
    e, emulated = emulated_text()
    native = native_text()
    return "\n\n".join([
        env.text(f"Bochs 3.0 with our patches and instrumentation ({e.data.versions()})",
                 f"gnuplot {version('gnuplot', '--version')}"),
        wrap("`tests/programs/neuron.cu`: of 1,096,835 calls 290,122 cudaMemcpy of 480 bytes, 268,537 seeds and 268,536 "
             "offsets of a cuRAND generator, 142,394 launches, 127,246 cudaPeekAtLastError, spread evenly. The driver "
             "is softgpu, so handlers take what an interpreter takes."),
        emulated, native])
