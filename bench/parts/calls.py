# SPDX-License-Identifier: Apache-2.0
"""Measures the time of a call, divided by its use, over every way to make a call."""
import collections
import os

import record
import vmhost
from report import (Environment, has_vmx, items, median, number, pick, plot, say, script, spread, table,
                    version, wrap, write_data)

TITLE = "A call, by what it is spent on"
KINDS = [("null_call", "null call"), ("launch", "launch"), ("copy_to_device", "4 KB to the device"),
         ("copy_to_host", "4 KB to the host")]
# (prefix of the program's names, words)
EMULATED = [("direct", "no Wormhole: the driver in the process"), ("vmfunc", "vmfunc"),
            ("ibpb", "vmfunc, `--barrier=ibpb`, one pair"),
            ("strict", "vmfunc, exits forced (`--barrier=strict`)")]
NATIVE = [("native", "native: the driver in the process"), ("shm", "shm, waited for"),
          ("shm_posted", "shm, posted"), ("notify", "shared memory, notified by TCP"),
          ("tcp", "TCP")]
# Figures of the Wormhole paper's prototype in cycles per call, from about 1.1 million
# calls.
PAPER = {"copy": 790, "switch": 1150, "FS/GS": 2300, "whole": 4200, "notification": 87}


# --- In the emulated host ----------------------------------------------------------

class Emulated:
    """Figures of stages.c in the job bench/job/run: {name: ...} of each marked call."""

    def __init__(self, data):
        self.data = data
        self.bench = {w[0]: (int(w[2]), *map(float, w[3:])) for w in data.get("bench")}
        self.calls = collections.defaultdict(list)
        names = {int(w[1]): w[0] for w in data.get("marked")}
        maps = {}
        path = os.path.join(data.path, "record")
        for what, records in record.calls(path) if os.path.exists(path) else ():
            name = names[what]
            prefix = self.prefix(name)
            for p in (prefix, "worker_" + prefix, "host_" + prefix):
                maps.setdefault(p, self.maps(p))
            self.calls[name].append(record.Call(records, maps[prefix], maps["worker_" + prefix],
                                                maps["host_" + prefix]))
        for name, all_of_it in self.calls.items():
            # The first call finds the emulator's tables and caches in an unknown state.
            self.calls[name] = all_of_it[1:]

    def maps(self, prefix):
        """Return the map of these programs' code, or None if they did not say it."""
        known = [(int(w[1], 16), int(w[2], 16), vmhost_name(w[3])) for w in self.data.get("code") if w[0] == prefix]
        return record.Maps(known) if known else None

    def prefix(self, name):
        """Return the prefix of the program that made the call."""
        known = {w[0] for w in self.data.get("code")}
        return max((p for p in known if name.startswith(p + "_")), key=len)

    def undisturbed(self, name):
        """Return the calls without an interrupt of the host, if there are enough of them."""
        good = [c for c in self.calls[name] if not c.disturbed()]
        return good if len(good) >= 5 else self.calls[name]

    def parts(self, name):
        """Return the medians of record.PARTS."""
        all_parts = [record.breakdown(c, driver(name)) for c in self.undisturbed(name)]
        return {p: median([a[p] for a in all_parts]) for p in record.PARTS}

    def whole(self, name):
        """Return the time by the client's clock, without the time that reading the clock takes."""
        return self.bench[name][2] - self.bench["rdtsc_pair"][2]

    def exits(self, name):
        """Return (exits, VMFUNCs that did not exit) of a call, as medians."""
        calls = self.undisturbed(name)
        own = [sum(n for e, n in c.exits.items() if e not in record.HOST_EXITS) for c in calls]
        funcs = [c.count("vmfunc") - c.exits["vmfunc"] for c in calls]
        return median(own), median(funcs)


def vmhost_name(path):
    """Return a library's name. Libraries with the same name differ by their place in the VMs."""
    return ("softgpu:" if path.startswith("/usr/lib/softgpu/") else "") + record.short_name(path)


def driver(name):
    """Return a test for the handler: the driver, and for a null call all code behind the landing."""
    def is_handler(world, code):
        if world == "client":
            return code.startswith("softgpu:")
        if world == "host":
            return code.startswith("libcuda.so")
        if world != "view":
            return False
        return "null_call" in name or code.startswith(("libcuda.so", "libsyscalls.so"))
    return is_handler


def full_name(prefix, kind):
    return f"{prefix}_null_{kind}" if kind == "null_call" else f"{prefix}_{kind}"


def emulated_rows(e):
    for kind, words in KINDS:
        for prefix, way in EMULATED:
            name = full_name(prefix, kind)
            if name in e.calls:
                yield kind, words, way, e.parts(name), e.exits(name), len(e.undisturbed(name))


def emulated_table(e):
    rows = []
    for _, words, way, parts, (exits, funcs), n in emulated_rows(e):
        rows.append([words, way] + [number(parts[p]) for p in record.PARTS]
                    + [number(sum(parts.values())), exits, funcs, n])
    return table(["call", "way", *record.PARTS, "whole", "exits", "VMFUNC", "calls"], rows)


def emulated_figure(e):
    rows = [["call", *record.PARTS, "sum"]]
    for _, words, way, parts, *_ in emulated_rows(e):
        if not way.endswith("one pair"):
            short = {"vmfunc": "vmfunc"}.get(way, "exits forced" if "forced" in way else "no Wormhole")
            rows.append([f"{words}, {short}"] + [parts[p] for p in record.PARTS] + [number(sum(parts.values()))])
    write_data("calls_emulated", rows)
    return plot("calls_emulated", "stacked", "Instructions of a call in the emulated host, by what they are for",
                unit="instructions (emulated, not cycles)", parts=len(record.PARTS))


SYSTEM_CALLS = [("syscalls_none", "none", 1), ("syscalls_gate", "answered behind the gate (getppid)", 1),
                ("two_none", "none", 2), ("two_companion", "by the companion (ioctl)", 2),
                ("syscalls_handoff", "by handoff (getpgid)", 1)]


def system_call_table(e, two):
    rows = []
    for name, words, cpus in SYSTEM_CALLS:
        f = e if cpus == 1 else two
        if name not in f.calls:
            continue
        exits, funcs = f.exits(name)
        base = f.bench[("syscalls" if cpus == 1 else "two") + "_none"][2]
        rows.append([words, cpus, number(f.bench[name][2]), number(f.bench[name][2] - base),
                     exits, funcs, number(f.bench[name][0])])
    return table(["system call in a call", "CPUs", "call", "added", "exits", "VMFUNC", "calls"], rows)


BASELINES = [("rdtsc_pair", "two RDTSC, nothing between"), ("getpid", "getpid() in the client VM"),
             ("cpuid_hypercall", "CPUID hypercall from CPL 3: one exit"),
             ("vmfunc_null_null_call", "null call"),
             ("direct_launch", "launch, driver in the process"), ("vmfunc_launch", "launch"),
             ("strict_launch", "launch, exits forced")]


def whole_table(e):
    rows = []
    for name, words in BASELINES:
        n, low, mid, high = e.bench[name]
        net = "" if name == "rdtsc_pair" else number(e.whole(name))
        rows.append([words, number(n), number(low), number(mid), number(high), net])
    return table(["what", "runs", "min", "median", "max", "net"], rows)


def reasons(counts):
    return ", ".join(f"{k} {number(v)}" for k, v in sorted(counts.items())) or "none"


def counters(e):
    lines = []
    for name in ("vmfunc_null", "vmfunc", "strict"):
        lines.append(f"- `{name}`: exits taken in the view: {reasons(e.data.counters(name, 'exits'))}; "
                     f"handoffs: {reasons(e.data.counters(name, 'handoffs'))}")
    return "\n".join(lines)


def emulated():
    """Run everything on one processor, and the companion on two, with one VM on each."""
    one = Emulated(vmhost.run("bench-calls", "run", KINDS="baseline null vmfunc direct ibpb strict syscalls"))
    two = Emulated(vmhost.run("bench-calls-2", "run", cpus=2, KINDS="companion"))
    return one, two


def emulated_text(one, two):
    unit = "cycles of the TSC" if has_vmx() else "instructions"
    tail = ("Marks do nothing on a real processor, so there is no division into parts here." if has_vmx() else
            "The emulator counts instructions, exits and VMFUNCs exactly, and never cycles. An exit and a NOP count "
            "alike.")
    paper = PAPER
    return "\n\n".join([
        "### In the emulated VMX host" if not has_vmx() else "### In this VMX host",
        wrap(f"Measured: medians of marked calls, {unit}. Calls that an interrupt of the host came into are left out. {tail} "
             "The columns are:"),
        items("*copy*: the client's stub and the worker's code around the driver (marshalling, checks, tables);",
              "*switch*: the trampoline and every kernel;",
              "*FS/GS*: the trampoline's instructions that move these bases;",
              "*handler*: the driver; of a null call, all that runs behind the landing;",
              "*exits*: all but the host's own interrupts;", "*VMFUNC*: those that did not exit."),
        emulated_table(one), emulated_figure(one),
        wrap(f"The Wormhole paper's prototype took about {number(paper['whole'])} **cycles** of its processor a call: "
             f"copy {paper['copy']}, FS/GS by four system calls {number(paper['FS/GS'])}, switch {number(paper['switch'])}. "
             "Only the order of the parts can be compared. Here FS/GS are six instructions, since the trampoline uses "
             "FSGSBASE, and no exit comes with them."),
        "System calls that the driver makes inside of a call; whole calls, by the client's TSC:",
        system_call_table(one, two),
        "Whole calls, by the client's TSC; *net* is without what two RDTSC take:", whole_table(one),
        "KVM counted this (`wormhole stat`) while these programs ran, their start included:", counters(one)])


# --- On this machine ----------------------------------------------------------------

class Native:
    """Nanoseconds of each name in native.sh: the median of its turns' medians."""

    def __init__(self, turns):
        self.turns = collections.defaultdict(list)
        say(f"calls on this machine, {turns} turns")
        for line in script("native.sh", turns).splitlines():
            word, name, _, _, _, mid, _ = line.split()
            if word == "bench":
                self.turns[name].append(float(mid))

    def get(self, name):
        return median(self.turns[name])

    def has(self, name):
        return name in self.turns


def native_name(way, kind):
    kind = kind.replace("copy_", "copy_4k_")
    if way == "shm_posted":
        return "shm_launch" if kind == "launch" else None
    if kind == "launch" and way in ("native", "shm", "loopback"):
        kind = "launch_waiting"
    return f"{way}_{kind}"


def native_parts(n, way, kind):
    """Return (copy, switch, handler, whole) by differences of medians, or None if the call is missing."""
    name = native_name(way, kind)
    if name is None or not n.has(name):
        return None
    whole = n.get(name)
    handler = n.get(native_name("native", kind)) if kind != "null_call" else 0
    if way == "native":
        return 0, 0, whole, whole
    inside = n.get(native_name("loopback" if way.startswith("shm") else "inline", kind))
    return max(0, inside - handler), whole - max(inside, handler), handler, whole


def native_rows(n):
    for kind, words in KINDS:
        for way, way_words in NATIVE:
            parts = native_parts(n, way, kind)
            if parts:
                low, _, high = spread(n.turns[native_name(way, kind)])
                yield words, way_words, parts, low, high


def native_table(n):
    rows = [[words, way, number(c), number(s), number(h), number(w), f"{number(low)} to {number(high)}"]
            for words, way, (c, s, h, w), low, high in native_rows(n)]
    return table(["call", "way", "copy", "switch", "handler", "whole", "turns"], rows)


def native_figure(n):
    rows = [["call"] + [words.split(":")[0] for _, words in NATIVE]]
    for kind, words in KINDS:
        parts = [native_parts(n, way, kind) for way, _ in NATIVE]
        rows.append([words] + [p[3] if p and p[3] else "-" for p in parts])
    write_data("calls_native", rows)
    return plot("calls_native", "ways", "Nanoseconds of a call on this machine, by each way")


def notification_share(n):
    """Return the percentage of a notified call's time that the notification takes, over the four kinds."""
    parts = [native_parts(n, "notify", kind) for kind, _ in KINDS]
    return 100 * sum(p[1] for p in parts) / sum(p[3] for p in parts)


def native_text(n):
    return "\n\n".join([
        "### On this machine, without VMs",
        wrap("Measured: nanoseconds, each way in short turns one after the other (`bench/native.sh`). The table has "
             "the median of the turns' medians, and their spread. The driver is softgpu. Client and server are bound "
             "to a CPU each. Ways over TCP are small programs of our own (`bench/tcp.c`), with requests of the same "
             "sizes, over the loopback interface and without VMs in between. The columns are:"),
        items("*handler*: the same call natively;",
              "*copy*: what the call takes more in one process with the marshalling alone (`loopback`, "
              "`bench/tcp.c inline`);",
              "*switch*: the rest. The program does not wait for a posted launch. Its parts run at the same time, so "
              "*switch* may be below zero."),
        native_table(n), native_figure(n),
        wrap(f"Of calls by shared memory with TCP to notify, the notification takes {number(notification_share(n))} % "
             f"of the time here. The paper has {PAPER['notification']} % for GVirtuS with shared memory and TCP. "
             f"For scale: getpid() takes {number(n.get('native_getpid'))} ns here, memcpy() of 4 KB "
             f"{number(n.get('native_memcpy_4k'))} ns.")])


def section():
    env = Environment()
    one, two = emulated()
    native = Native(pick(2, 9))
    return "\n\n".join([
        env.text(f"Bochs 3.0 with our patches and instrumentation ({one.data.versions()})",
                 f"gnuplot {version('gnuplot', '--version')}"),
        emulated_text(one, two), native_text(native)])
