# SPDX-License-Identifier: Apache-2.0
"""Reads the instructions that Bochs wrote down, and divides calls into stages.

A marked call is what ran between two marks (stages.c): each instruction with
the machine's tick, which counts instructions, and its address. Stages end where
execution first reaches an address: an entry of the trampoline's page.map, or
the return address of a call instruction. So an interrupt within a stage counts
as a part of it, and shows in the stage's maximum.
"""
import re

TRAMPOLINE = 0x5f8000000000     # WH_TRAMPOLINE_VA
INSTRUCTION = re.compile(
    r"\(0\)\.\[(\d+)\] \[0x[0-9a-f]+\] [0-9a-f]{4}:([0-9a-f]+) .*; ([0-9a-f]+)\s*$")
STAGES = ["stub", "trampoline out", "handler", "trampoline back", "stub after"]


def read_map(path):
    """{symbol: linear address} of the trampoline."""
    with open(path) as f:
        return {name: TRAMPOLINE + int(offset, 16) for offset, name in map(str.split, f)}


def sections(path):
    """Each marked call as a list of (tick, address, length)."""
    section = None
    with open(path, errors="replace") as f:
        for line in f:
            if line.startswith("Tracing enabled"):
                section = []
            elif "Magic breakpoint" in line and section:
                yield section
                section = None
            elif section is not None:
                m = INSTRUCTION.match(line)
                if m:
                    section.append((int(m[1]), int(m[2], 16), len(m[3]) // 2))


class Walk:
    """Finds one address after the other in a section."""

    def __init__(self, section):
        self.section = section
        self.at = 0

    def reach(self, address):
        """The tick at which this address is executed next."""
        while self.at < len(self.section):
            if self.section[self.at][1] == address:
                return self.section[self.at][0]
            self.at += 1
        raise ValueError(f"the call never reaches {address:#x}")

    def behind(self):
        """Where the instruction before this one, a call, returns to."""
        _, address, length = self.section[self.at - 1]
        return address + length

    def step(self):
        self.at += 1
        return self.section[self.at][0]


def stages(section, entry, symbols):
    """Instructions of each of STAGES in one marked call."""
    walk = Walk(section)
    ticks = [walk.reach(entry)]
    end = walk.behind()
    ticks.append(walk.reach(symbols["delegate_to_server"]))
    back = walk.behind()
    walk.reach(symbols["wh_land_entry.call"])
    ticks.append(walk.step())
    ticks.append(walk.reach(symbols["wh_land_entry.return"]))
    walk.reach(symbols["wh_gate_home"])
    ticks.append(walk.reach(back))
    ticks.append(walk.reach(end))
    return [b - a for a, b in zip(ticks, ticks[1:])]


def in_kernel(section):
    """Did any kernel run, of the client, the server or the host?"""
    return any(address >> 63 for _, address, _ in section)
