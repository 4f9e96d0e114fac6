#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The test promises that bench/model.py counts what a call touches and what misses its caches and
TLBs, and sums the costs, and that bench/run.py keeps the sections of other parts.

It works on made-up records.
"""
import os
import sys
import tempfile

BUILD = os.environ.get("WH_BUILD") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TOP = os.environ.get("WH_TOP") or os.path.dirname(BUILD)
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, "bench"), os.path.join(TOP, "tests/bench")]
import model                                                        # noqa: E402
import record                                                       # noqa: E402
import run                                                          # noqa: E402
from points import ok                                               # noqa: E402


def space(root):
    return ("S", 0, 0, 0, root, 0x7000)


def instruction(address, kind="plain"):
    return ("I", 3, 0, record.CLASSES.index(kind), address, address)


def access(address, length=8):
    return ("M", 0, 0, length, address, address)


print("TAP version 13\n1..7")
call = [space(1), instruction(0x1000), instruction(0x1004), access(0x2000), instruction(0x1040, "vmfunc"),
        space(2), instruction(0x1080), access(0x203c, 8), access(0x5000)]
machine = model.Machine()
first, second = machine.count(call), machine.count(call)
got = [first[k] for k in ("instruction", "vmfunc", "code_lines", "data_lines", "code_pages", "data_pages")]
ok(got == [4, 1, 3, 3, 2, 3], "lines_and_pages_are_counted_once_and_pages_in_each_space", got)
ok((first["l1"], first["walk"]) == (6, 5), "cold_machine_lacks_all_of_it", first)
ok((second["l1"], second["walk"], second["tlb"]) == (0, 0, 0), "warm_machine_lacks_nothing", second)
got = machine.count([space(3)] + [access(n * 4096) for n in range(100)])
again = machine.count([access(n * 4096) for n in range(100)])
ok(got["walk"] == 100 and again["walk"] == 0 and again["tlb"] == 100, "second_tlb_holds_what_the_first_cannot", again)
ok(again["l1"] == 100, "lines_of_one_set_push_each_other_out", again)
forced = model.Machine().count([space(1), instruction(0x1000, "vmfunc"), ("X", 0, 0, 0, 59, 0), ("X", 0, 0, 0, 52, 0)])
low, high = model.cycles(forced)
want = [1 / 3 + 1171 + 12, 1 + 1240 + 14]
ok(forced["vmfunc"] == 0 and [low, high] == want, "vmfunc_that_exits_costs_an_exit_and_the_hosts_own_cost_nothing",
   (forced, low, high))
with tempfile.NamedTemporaryFile("w", suffix=".md") as f:
    run.write(f.name, {"calls": "one\n", "model": "two\n"})
    run.write(f.name, {**run.old_sections(f.name), "model": "three\n"})
    got = run.old_sections(f.name)
ok(got == {"calls": "one\n", "model": "three\n"}, "sections_of_other_parts_are_kept", got)
sys.exit(0)
