# SPDX-License-Identifier: Apache-2.0
"""Counts what costs cycles in a marked call, and models the cycles. It measures nothing.

Caches and TLBs are simulated over the accesses that the emulator wrote down
(record.py), from one marked call to the next, so that the later ones are warm.
All pages are assumed to have 4 KiB, and translations to be tagged by EPT root and CR3
(VPID and PCID), so a switch loses nothing.
"""
import collections

import record

LINE, PAGE = 64, 4096
# Parameters of a Skylake core: sets of `ways` lines, LRU. TLBs are assumed to be fully
# associative.
L1_SETS, L1_WAYS = 64, 8
TLB_ENTRIES, STLB_ENTRIES = 64, 1536

Cost = collections.namedtuple("Cost", "low high words source")
COSTS = {
    "instruction": Cost(1 / 3, 1.0, "an instruction", "assumed: three in a cycle to one"),
    "vmfunc": Cost(134, 169, "VMFUNC that switches, with VPID",
                   "SkyBridge (EuroSys 2019): 134, Skylake; LVDs (VEE 2020): 169, Haswell"),
    "exit": Cost(1171, 1240, "VM exit and entry, beside the host's instructions",
                 "LVDs (VEE 2020): VMCALL and back, Haswell, no mitigations"),
    "fsgsbase": Cost(15, 30, "RDFSBASE, WRFSBASE and GS's",
                     "weak: about 15 in texts without a measurement; twice that assumed as the most"),
    "l1": Cost(12, 14, "line that L1 lacks and L2 has", "Intel's optimization manual, Skylake"),
    "tlb": Cost(7, 9, "page that the first TLB lacks and the second has", "assumed, after the same manual"),
}


class Lru:
    """A set that keeps its latest `size` members. has() tells whether a member was there."""

    def __init__(self, size):
        self.size = size
        self.members = collections.OrderedDict()

    def has(self, member):
        found = member in self.members
        if found:
            self.members.move_to_end(member)
            return True
        self.members[member] = True
        if len(self.members) > self.size:
            self.members.popitem(last=False)
        return False


class Cache:
    def __init__(self):
        self.sets = [Lru(L1_WAYS) for _ in range(L1_SETS)]

    def has(self, line):
        return self.sets[line % L1_SETS].has(line)


class Machine:
    """The first caches and TLBs of one processor. count() runs a call through them."""

    def __init__(self):
        self.cache = {"code": Cache(), "data": Cache()}
        self.tlb = {"code": Lru(TLB_ENTRIES), "data": Lru(TLB_ENTRIES)}
        self.stlb = Lru(STLB_ENTRIES)
        self.space = None

    def count(self, records):
        """Return {what: how many} of one call. `lines` and `pages` count everything that it touches."""
        n = collections.Counter()
        lines, pages = {"code": set(), "data": set()}, {"code": set(), "data": set()}
        for r in records:
            if r[0] == "S":
                self.space = r[4], r[5]
            elif r[0] == "X":
                n["exit"] += record.EXITS.get(r[4]) not in record.HOST_EXITS
                n["vmfunc"] -= record.EXITS.get(r[4]) == "vmfunc"
            elif r[0] == "I":
                n["instruction"] += 1
                n[record.CLASSES[r[3]]] += 1
                self.touch(n, "code", r[4], r[5], 1, lines, pages)
            elif r[0] == "M":
                self.touch(n, "data", r[4], r[5], max(r[3], 1), lines, pages)
        for kind in ("code", "data"):
            n[kind + "_lines"] = len(lines[kind])
            n[kind + "_pages"] = len(pages[kind])
        return n

    def touch(self, n, kind, linear, physical, length, lines, pages):
        page = self.space, linear // PAGE
        pages[kind].add(page)
        if not self.tlb[kind].has(page):
            n["tlb" if self.stlb.has(page) else "walk"] += 1
        for line in range(physical // LINE, (physical + length - 1) // LINE + 1):
            lines[kind].add(line)
            n["l1"] += not self.cache[kind].has(line)


def cycles(n):
    """Return (low, high), the cycles for a call's counts."""
    return tuple(sum(n[k] * getattr(c, which) for k, c in COSTS.items()) for which in ("low", "high"))
