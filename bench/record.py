# SPDX-License-Identifier: Apache-2.0
"""Reads the file that the instrumented emulator wrote (instrument/instrument.cc).

A marked call is the code that ran between two marks. Each of its instructions belongs to
a *place*: the world that runs it (client, worker in the view, server VM, host), and the
owner of the code by the programs' maps. Code of the C library belongs to its caller. A
client may be a process of the host; the host's other processes are in the world `host`.
"""
import collections
import struct

RECORD = struct.Struct("<BBBBIQQ")
CLASSES = ("plain vmfunc fsgsbase cpuid syscall sysret msr swapgs xstate vmentry atomic "
           "fence pause").split()
PAUSE = CLASSES.index("pause")
TRAMPOLINE = 0x5f8000000000     # WH_TRAMPOLINE_VA
TRAMPOLINE_END = TRAMPOLINE + 0x10000
KERNEL = 1 << 63
# Basic exit reasons (SDM 3, appendix C) that occur here.
EXITS = {0: "exception_nmi", 1: "external_interrupt", 7: "interrupt_window", 8: "nmi_window",
         10: "cpuid", 12: "hlt", 18: "vmcall", 28: "cr_access", 30: "io", 31: "rdmsr", 32: "wrmsr",
         48: "ept_violation", 49: "ept_misconfig", 52: "preemption_timer", 59: "vmfunc"}
HOST_EXITS = {"external_interrupt", "preemption_timer", "exception_nmi", "interrupt_window", "nmi_window"}

Space = collections.namedtuple("Space", "root cr3")


def read(path):
    """Yield the records as tuples (type, flags, cpu, length, a, b)."""
    with open(path, "rb") as f:
        while True:
            data = f.read(RECORD.size * 65536)
            data = data[:len(data) - len(data) % RECORD.size]
            if not data:
                return
            for kind, flags, cpu, length, _, a, b in RECORD.iter_unpack(data):
                yield chr(kind), flags, cpu, length, a, b


def calls(path):
    """Yield each marked call as (what, records), without the marks."""
    what, records = None, []
    for r in read(path):
        if r[0] == "B":
            what, records = r[4], []
        elif r[0] == "E":
            if what is not None:
                yield what, records
            what = None
        elif what is not None:
            records.append(r)


class Maps:
    """Tells which program's code an address of one process belongs to."""

    def __init__(self, ranges):
        self.ranges = sorted(ranges)            # (from, to, name)
        self.cache = {}

    def name(self, address):
        page = address >> 12
        if page not in self.cache:
            self.cache[page] = next((n for a, b, n in self.ranges if a <= address < b), "?")
        return self.cache[page]


def short_name(path):
    return path.rsplit("/", 1)[-1]


# Code of these libraries counts as the caller's.
SHARED = ("libc.so", "ld-linux", "[vdso]", "libm.so", "libpthread", "libdl", "libgcc")


def is_shared(name):
    return name.startswith(SHARED)


class Places:
    """Follows the records of one call, and tells the place of each instruction."""

    def __init__(self, client, worker, host):
        self.maps = {"client": client, "view": worker, "server": worker, "host": host}
        self.own = None         # the client's space: the one of the call's first instruction
        self.space = {}         # by CPU
        self.owner = {}         # by space: the caller of the C library

    def follow(self, record):
        """Handle a record S."""
        _, _, cpu, _, root, cr3 = record
        self.space[cpu] = Space(root, cr3)
        if self.own is None:
            self.own = self.space[cpu]

    def world(self, cpu):
        s = self.space[cpu]
        if s.root == 0 and s != self.own:
            return "host"
        if s.root == self.own.root:
            return "client"
        return "view" if s.cr3 == self.own.cr3 else "server"

    def place(self, record):
        """Return (world, whose code) for a record I."""
        _, cpl, cpu, _, rip, _ = record
        world = self.world(cpu)
        if world == "host" and cpl == 0:
            return world, "kernel"
        if TRAMPOLINE <= rip < TRAMPOLINE_END:
            return world, "trampoline"
        if rip & KERNEL:
            return world, "gate" if world == "view" else "kernel"
        if world == "client" and self.space[cpu].cr3 != self.own.cr3:
            return world, "others"
        maps = self.maps[world]
        name = maps.name(rip) if maps else "QEMU" if world == "host" else "?"
        if is_shared(name):
            return world, self.owner.get(self.space[cpu], name)
        self.owner[self.space[cpu]] = name
        return world, name


LOOP = 16       # instructions of a round that polls, at most


class Polls:
    """Tells which of a processor's instructions poll: those from one PAUSE to the next time that it comes."""

    def __init__(self):
        self.last = {}          # by CPU: address of the last PAUSE, and the places since

    def polled(self, cpu, rip, place, pauses):
        """Return the places of the instructions that turn out to be a round, with this one's as the last."""
        before, since = self.last.setdefault(cpu, (None, []))
        since.append(place)
        if pauses:
            self.last[cpu] = rip, []
            return since if before == rip else []
        if len(since) >= LOOP:
            self.last[cpu] = None, []
        return []


# Programs of the host that take no part, on a processor that the call leaves idle.
UNRELATED = ("host", "?")


class Call:
    """The counts of one marked call."""

    def __init__(self, records, client, worker, host=None):
        self.by_place = collections.Counter()
        self.by_class = collections.Counter()   # by (world, code, class), without the plain class
        self.by_mode = collections.Counter()    # by (world, "user" or "kernel")
        self.polls = collections.Counter()      # by place: those that poll, a part of by_place
        self.exits = collections.Counter()
        self.tlb = collections.Counter()
        places, polls = Places(client, worker, host), Polls()
        for r in records:
            if r[0] == "I":
                place = places.place(r)
                if place == UNRELATED:
                    continue
                self.by_place[place] += 1
                self.by_mode[place[0], "user" if r[1] else "kernel"] += 1
                self.polls.update(polls.polled(r[2], r[4], place, r[3] == PAUSE))
                if r[3]:
                    self.by_class[place + (CLASSES[r[3]],)] += 1
            elif r[0] == "S":
                places.follow(r)
            elif r[0] == "X":
                self.exits[EXITS.get(r[4], str(r[4]))] += 1
            elif r[0] == "T":
                self.tlb[r[4]] += 1

    def total(self):
        return sum(self.by_place.values())

    def count(self, kind):
        return sum(n for (_, _, k), n in self.by_class.items() if k == kind)

    def disturbed(self):
        """Return true if the host took the CPU for work of its own."""
        return any(e in HOST_EXITS for e in self.exits)


PARTS = ("copy", "switch", "FS/GS", "handler")
BETWEEN = ("trampoline", "gate", "kernel", "QEMU", "qemu-system-x86_64", "wormhole-relay", "wormhole", "others")


def breakdown(call, driver):
    """Instructions of a call by what they are for: PARTS. `driver(world, name)`: is it the handler?

    copy: the client's stub, and the worker's code around the driver: marshalling, checks, tables.
    switch: the trampoline, every kernel, and programs between both. FS/GS: the trampoline's instructions
    for the bases.
    """
    parts = dict.fromkeys(PARTS, 0)
    for (world, name), n in call.by_place.items():
        if name in BETWEEN:
            parts["switch"] += n
        elif driver(world, name):
            parts["handler"] += n
        else:
            parts["copy"] += n
    for (_, name, kind), n in call.by_class.items():
        if kind == "fsgsbase" and name in ("trampoline", "gate"):
            parts["FS/GS"] += n
            parts["switch"] -= n
    return parts


def waited(call):
    """Return how many instructions of stub and worker poll a word of the other side; breakdown() has them in `copy`."""
    return sum(n for (_, name), n in call.polls.items() if name not in BETWEEN)
