# SPDX-License-Identifier: Apache-2.0
"""Measures steps of single layers and the training of two small networks: over vmfunc in the
emulated host, and here."""
import collections

import vmhost
from report import (Environment, Missing, clock, items, median, number, pick, plot, say, script, spread, table, version,
                    wrap, write_data)

TITLE = "Layers and training"
LAYERS = ["convolution", "deconvolution", "rnn", "lstm", "batch_norm", "relu", "sigmoid", "tanh"]
NETWORKS = [("lenet", "LeNet"), ("alexnet", "AlexNet")]
EMULATED = [("direct", "no Wormhole"), ("vmfunc", "vmfunc"), ("strict", "exits forced"), ("loopback", "loopback"),
            ("shm", "shm in the client VM")]
NATIVE = [("native", "native"), ("loopback", "loopback"), ("shm", "shm")]
STEPS = 4                       # of each layer, after one that is not measured
# These are for the emulated host, where a step takes a hundred times as long as on this
# machine.
LENET, ALEXNET = "batch=5 width=10 steps=10", "batch=2 width=64 image=67 steps=5"


def nice(name):
    return name.replace("_", " ")


def of_base(mine, base):
    return f"{mine / base:.2f}" if mine and base else ""


# --- In the emulated host ----------------------------------------------------------

class Emulated:
    """The output of the job bench/job/run for each way."""

    def __init__(self, data):
        self.data = data
        self.ns, self.rate, self.hash = {}, {}, collections.defaultdict(set)
        for program, word, *rest in data.get("said"):
            if word == "layer":
                self.ns[program, rest[0]] = float(rest[1])
                self.hash[rest[0]].add(rest[3])
            elif word == "rate":        # the last of two turns counts
                self.rate[program] = float(rest[0])

    def step(self, way, layer):
        ns = self.ns.get((f"layers_{way}", layer))
        return ns * clock()[0] / 1e9 if ns else 0

    def image(self, way, network):
        rate = self.rate.get(f"{network}_{way}")
        return clock()[0] / rate if rate else 0

    def counted(self, way, group):
        """Return the counts of the layers' program and both networks', including their starts."""
        names = {w[0] for w in self.data.get("after")}
        return sum(sum(self.data.counters(p, group).values())
                   for p in (f"layers_{way}", f"lenet_{way}", f"alexnet_{way}") if p in names)

    def requests(self, way):
        """Return the requests of these programs to the worker."""
        return sum(int(w[2]) for w in self.data.get("said") if w[1] == "wormhole:" and
                   w[0] in (f"layers_{way}", f"lenet_{way}", f"alexnet_{way}"))


def emulated_row(words, figures):
    base = figures[0]
    return [words, *(number(f) if f else "" for f in figures), *(of_base(f, base) for f in figures[1:])]


def emulated_text():
    e = Emulated(vmhost.run("bench-layers", "run", more=["others.list", "layers.list"], marks=False, partly=True,
                            timeout=1500, BACKEND="",
                            KINDS=" ".join("layers_" + w for w, _ in EMULATED), STEPS=STEPS, LENET=LENET,
                            ALEXNET=ALEXNET, CLIENT_MIB=256))
    if not e.step("direct", LAYERS[0]):
        raise Missing("not even the driver in the process computed a layer: see above")
    different = [layer for layer in LAYERS if len(e.hash[layer]) != 1]
    if different:
        raise Missing(f"results differ from way to way: {', '.join(different)}")
    unit = clock()[1]
    ways = [w for w, _ in EMULATED]
    rows = [emulated_row(nice(layer), [e.step(w, layer) for w in ways]) for layer in LAYERS]
    rows += [emulated_row(f"{words}, an image", [e.image(w, n) for w in ways]) for n, words in NETWORKS]
    head = ["a step", *(words for _, words in EMULATED), *(f"{w} / none" for w, _ in EMULATED[1:])]
    names = [nice(layer) for layer in LAYERS] + [words for _, words in NETWORKS]
    write_data("layers_emulated", [["layer", *(words for _, words in EMULATED[1:])]] +
               [[name] + [float(x) if x else "-" for x in row[len(EMULATED) + 1:]] for name, row in zip(names, rows)])
    kept = [f"`{w}`: {number(e.requests(w))} requests to the worker, {number(e.counted(w, 'exits'))} exits in the "
            f"view, {number(e.counted(w, 'handoffs'))} handoffs"
            for w in ("vmfunc", "strict")]
    return e, "\n\n".join([
        "### In the emulated VMX host, on one CPU",
        "Measured by the program's own clock, which counts everything that runs meanwhile:",
        items(f"{unit} of a step of each layer: at least {STEPS} steps and 0.1 s of its clock, behind a first one;",
              f"{unit} of an image in a step of training, behind a first one (LeNet: `{LENET}`, AlexNet: `{ALEXNET}`)."),
        wrap("*None* is the driver in the process without Wormhole, the baseline of each quotient. Each way's layers "
             "answered the same to the last bit."),
        table(head, rows), plot("layers_emulated", "quotients", "Instructions of a step of a layer, as a multiple of "
                                "those without Wormhole", unit=f"{unit} / without Wormhole"),
        "All of these programs, starts included, took this; the host's own interrupts are among the exits:",
        items(*kept)])


# --- On this machine -----------------------------------------------------------------

class Native:
    """The turns of each world, from bench/layers.sh."""

    def __init__(self, turns, ms):
        self.turns, self.hash = collections.defaultdict(list), collections.defaultdict(set)
        self.crossings = {}
        say(f"layers and training on this machine, {turns} turns")
        for line in script("layers.sh", turns, ms).splitlines():
            w = line.split()
            if w[0] == "crossings":
                self.crossings[w[1]] = float(w[2])
            elif w[1] == "layer":
                self.turns[w[0], w[2]].append(float(w[3]) / 1000)
                self.hash[w[2]].add(w[5])
            elif w[1] == "train":       # the first round is for work that is done once
                self.turns[w[0], w[2]].append(1e6 / float(w[4]))
        different = [name for name, found in self.hash.items() if len(found) != 1]
        if different:
            raise Missing(f"results differ from way to way: {', '.join(different)}")

    def row(self, name, words):
        base = self.turns["native", name]
        row = [words] + [number(median(self.turns[w, name]), 1) for w, _ in NATIVE]
        for w, _ in NATIVE[1:]:
            low, mid, high = spread([a / b for a, b in zip(self.turns[w, name], base)])
            row.append(f"{mid:.2f} ({low:.2f} to {high:.2f})")
        return row + [f"{self.crossings[name]:.0f}" if name in self.crossings else ""]


def native_text():
    n = Native(pick(2, 5), pick(5, 60))
    rows = [n.row(layer, nice(layer)) for layer in LAYERS]
    rows += [n.row(name, f"{words}, an image") for name, words in NETWORKS]
    return "\n\n".join([
        "### On this machine, without VMs",
        wrap("Measured: microseconds of a step, each world in turns (`bench/layers.sh`). The table has medians, and "
             "quotients to native's turn with their spread. LeNet has 100 images a step, and its channels are divided "
             "by 10. AlexNet has 64 images of 67 x 67 a step, and its channels are divided by 64. *Requests* go to the worker in a step."),
        table(["µs of a step", *(w for _, w in NATIVE), "loopback / native", "shm / native", "requests"], rows)])


def section():
    env = Environment()
    e, emulated = emulated_text()
    native = native_text()
    return "\n\n".join([
        env.text(f"Bochs 3.0 with our patches ({e.data.versions()})",
                 f"gnuplot {version('gnuplot', '--version')}"),
        wrap("A step of `bench/layers.cu` is 4 images of 12 x 12, or sequences of 6, to the device, forward, backward, "
             "and the result back. The networks are `tests/programs/lenet.cu` and `tests/programs/alexnet.cu`. The "
             "driver is softgpu, and there is no stand-in for cuDNN:"),
        items("Convolution and deconvolution go image by image, by cuBLAS and kernels of our own, as Caffe has them.",
              "RNN and LSTM go step by step.", "The other layers are a kernel each way."),
        wrap("So calls are as many and as small as they get, and kernels take what an interpreter takes. On a GPU "
             "`make bench-gpu` has the same beside cuDNN's."),
        emulated, native])
