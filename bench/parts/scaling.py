# SPDX-License-Identifier: Apache-2.0
"""Measures calls of many clients and threads over shm on this machine, and the memory of a client."""
import collections

from report import Environment, median, number, pick, plot, say, script, spread, table, version, wrap, write_data

TITLE = "Scaling over shm: clients, threads, CPUs"
PROCESSES = [1, 2, 4, 8, 16, 32, 64]
THREADS = [1, 2, 4, 8, 16]
Figures = collections.namedtuple("Figures", "rate start_ms client_kib server_kib")


class Scale:
    """The turns of each (world, cpus, processes, threads), from the lines of scale.sh."""

    def __init__(self, turns):
        self.turns = collections.defaultdict(list)
        say(f"clients and threads on this machine, {turns} turns")
        for line in script("scale.sh", turns).splitlines():
            word, world, *figures = line.split()
            if word == "scale":
                cpus, processes, threads, *rest = figures
                self.turns[world, int(cpus), int(processes), int(threads)].append(Figures(*map(float, rest)))

    def cpus(self):
        return sorted({key[1] for key in self.turns})

    def get(self, key, what):
        return median([getattr(f, what) for f in self.turns[key]])

    def ratio(self, cpus, processes, threads):
        """Return the ratio of shm's rate to native's in the same turn: lowest, median, highest."""
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
    rows = [["n"] + [f"{w}, {c} CPU{'s' if c > 1 else ''}{what}" for w in ("native", "shm") for c in s.cpus()
                     for what in ("", ", threads")]]
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
        wrap("Measured: copies of 4 KB to the device, each waited for. Client processes of `bench/scale.c` make them, "
             "with threads each. They run natively (the driver, softgpu, in each process) and over `shm`, in turns "
             "(`bench/scale.sh`). The figures are medians. Clients, server and workers share the CPUs that are named. "
             "*Of one client's* is the rate divided by that of one client with one thread. *Of native* is the median "
             "of the turns' ratios, with its spread. On one CPU client and worker wait for each other's turn at each call."),
        rate_table(s), rate_figure(s),
        wrap(f"The next table has what a client takes, on {s.cpus()[-1]} CPUs. All clients start at a time. A start "
             "lasts from the first fork until each has made its first call: process, driver, attaching, a context, a "
             "module, 4 KB. Memory is what client and worker then hold, as proportional share: what processes share "
             "counts once. Workers that wait for clients to come count as their neighbours'."),
        client_table(s)])


def section():
    env = Environment()
    text = shm_text(Scale(pick(1, 5)))
    return "\n\n".join([env.text(f"gnuplot {version('gnuplot', '--version')}"), text])
