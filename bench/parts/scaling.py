# SPDX-License-Identifier: Apache-2.0
"""Calls of many clients and threads, and what a client takes by the number of them."""
import collections
import os
import subprocess
import sys

from report import (BUILD, OUT, TOP, Environment, Missing, has_vmx, median, number, pick, plot, say, spread,
                    table, version, wrap, write_data)

TITLE = "Scaling: clients, threads, CPUs"
PROCESSES = [1, 2, 4, 8, 16, 32, 64]
THREADS = [1, 2, 4, 8, 16]
PAIRS = [1, 2, 4, 8, 16, 32, 64]
Figures = collections.namedtuple("Figures", "rate start_ms client_kib server_kib")


class Scale:
    """Turns of each (world, cpus, processes, threads): scale.sh's lines."""

    def __init__(self, turns):
        self.turns = collections.defaultdict(list)
        say(f"clients and threads on this machine, {turns} turns")
        done = subprocess.run([os.path.join(TOP, "bench/scale.sh"), str(turns)], stdout=subprocess.PIPE, text=True,
                              check=False, env=dict(os.environ, WH_TOP=TOP, WH_BUILD=BUILD))
        if done.returncode:
            raise Missing("bench/scale.sh failed: see above")
        for line in done.stdout.splitlines():
            word, world, *figures = line.split()
            if word == "scale":
                cpus, processes, threads, *rest = figures
                self.turns[world, int(cpus), int(processes), int(threads)].append(Figures(*map(float, rest)))

    def cpus(self):
        return sorted({key[1] for key in self.turns})

    def get(self, key, what):
        return median([getattr(f, what) for f in self.turns[key]])

    def ratio(self, cpus, processes, threads):
        """Of shm's rate to native's of the same turn: least, median, most."""
        pairs = zip(self.turns["shm", cpus, processes, threads], self.turns["native", cpus, processes, threads])
        return spread([a.rate / b.rate for a, b in pairs])


def rate_rows(s, cpus, shapes):
    rows = []
    for processes, threads in shapes:
        native = s.get(("native", cpus, processes, threads), "rate")
        shm = s.get(("shm", cpus, processes, threads), "rate")
        alone = s.get(("shm", cpus, 1, 1), "rate")
        low, mid, high = s.ratio(cpus, processes, threads)
        rows.append([cpus, processes, threads, number(native), number(shm), f"{shm / alone:.2f}",
                     f"{mid:.4f}", f"{low:.4f} to {high:.4f}"])
    return rows


def rate_table(s):
    rows = []
    for cpus in s.cpus():
        rows += rate_rows(s, cpus, [(p, 1) for p in PROCESSES])
        rows += rate_rows(s, cpus, [(1, t) for t in THREADS[1:]])
    return table(["CPUs", "clients", "threads", "native, calls/s", "shm, calls/s", "of one client's",
                  "of native", "turns"], rows)


def client_table(s):
    cpus = s.cpus()[-1]
    rows = []
    for n in PROCESSES:
        ms = s.get(("shm", cpus, n, 1), "start_ms")
        native = s.get(("native", cpus, n, 1), "start_ms")
        rows.append([n, number(n * 1000 / native), number(n * 1000 / ms), f"{ms / n:.1f}",
                     number(s.get(("native", cpus, n, 1), "client_kib")),
                     number(s.get(("shm", cpus, n, 1), "client_kib")),
                     number(s.get(("shm", cpus, n, 1), "server_kib"))])
    return table(["clients at a time", "native: starts/s", "shm: starts/s", "ms each", "native client, KiB",
                  "shm client, KiB", "its worker, KiB"], rows)


def rate_figure(s):
    rows = [["n"] + [f"{w}, {c} CPU{'s' if c > 1 else ''}, {what}" for w in ("native", "shm") for c in s.cpus()
                     for what in ("clients", "threads")]]
    for n in PROCESSES:
        row = [n]
        for world in ("native", "shm"):
            for cpus in s.cpus():
                for key in ((world, cpus, n, 1), (world, cpus, 1, n)):
                    row.append(s.get(key, "rate") if key in s.turns else "-")
        rows.append(row)
    write_data("scaling", rows)
    return plot("scaling", "scaling", "Calls a second by the number of clients and of threads")


def shm_text(s):
    return "\n\n".join([
        "### Clients and threads on this machine",
        wrap("Measured: copies of 4 KB to the device, each waited for, by client processes of `bench/scale.c` with "
             "threads each, natively (the driver, softgpu, in each process) and over `shm`, in turns "
             "(`bench/scale.sh`); medians. Clients, server and workers share the CPUs that are named. *Of native* is "
             "the median of the turns' ratios, with its spread. On one CPU client and worker wait for each other's "
             "turn at each call."),
        rate_table(s), rate_figure(s),
        wrap(f"What a client takes, on {s.cpus()[-1]} CPUs: from the first fork until each has made its first call, "
             "all starting at a time (process, driver, attaching, a context, a module, 4 KB), and the memory that "
             "client and worker then hold (proportional share: what processes share counts once). Workers that wait "
             "for clients to come count as their neighbours'."),
        client_table(s)])


# --- Pairs over vmfunc ----------------------------------------------------------------

def pairs():
    """Lines of attach.c: pair, register and TAKE, ATTACH, first call, next, tables, pages, KiB, KiB."""
    say("64 pairs in the emulated VMX host")
    done = subprocess.run([os.path.join(TOP, "bench/attach.sh")], stdout=sys.stderr, check=False,
                          env=dict(os.environ, WH_TOP=TOP, WH_BUILD=BUILD))
    if done.returncode:
        raise Missing("bench/attach.sh failed: see above")
    with open(os.path.join(OUT, "attach.dat")) as f:
        return [[int(w) for w in line.split()] for line in f]


def pairs_text(lines):
    rows = [[r[0], number(r[1]), number(r[2]), number(r[3]), number(r[4]), number(r[5] * 4), number(r[7] + r[8])]
            for r in lines if r[0] in PAIRS]
    kib = sum(r[7] + r[8] for r in lines) / len(lines)
    return "\n\n".join([
        "### Pairs over vmfunc, in the emulated VMX host",
        wrap("Measured: instructions of all parties, and memory, of the n-th pair (`bench/attach.c`: two small VMs "
             "with the selftests' library; each worker has four slots and has touched 256 MiB in 4 KiB pages). "
             "*Before* is what worker and KVM do before the client comes: register and the first TAKE. Then ATTACH "
             "by the client's TSC, the first call, which arms the pair, and the call after it. Memory is what the "
             "host has less of afterwards. Baseline: the next call is what one takes without any of this."),
        table(["pair", "before", "ATTACH", "first call", "next call", "tables of the view, KiB", "host memory, KiB"],
              rows),
        plot("attach", "attach", "Instructions and memory of a pair by the number of pairs"),
        f"Host memory of {len(lines)} pairs: {number(kib)} KiB each; most of one pair's ATTACH and first call: "
        f"{number(max(r[2] + r[3] for r in lines))} instructions."])


def section():
    env = Environment()
    text = shm_text(Scale(pick(1, 5)))
    text += "\n\n" + ("### Pairs over vmfunc\n\nNot run: on this host `bench/attach.c` would be run by hand."
                      if has_vmx() else pairs_text(pairs()))
    return "\n\n".join([env.text(f"Bochs 3.0 with our patches, gnuplot {version('gnuplot', '--version')}"), text])
