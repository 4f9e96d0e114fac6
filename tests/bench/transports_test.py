#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The test promises that bench/parts/transports.py finds what a call takes in counts that were read
before, between and behind two rounds of calls: what reading costs is in none of its figures."""
import os
import sys
import tempfile

BUILD = os.environ.get("WH_BUILD") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TOP = os.environ.get("WH_TOP") or os.path.dirname(BUILD)
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, "bench"), os.path.join(TOP, "tests/bench")]
import vmhost                                                       # noqa: E402
from parts import transports                                        # noqa: E402
from points import ok                                               # noqa: E402

# A round has 4 calls, the other 14. A pause costs 100 exits and wakes QEMU 7 times; a call takes
# 3 exits and wakes the relay twice and a worker once. A call behind a rest of 5 exits the same.
SAID = """ran ring_null_null_call 4 400 2 99
ran ring_null_null_call 14 1400 12 99
ran ring_null_pause 4 40 4 99
ran ring_null_pause 14 140 14 99
ran ring_null_null_call_after_pause 4 4000 8 99
ran ring_null_null_call_after_pause 14 14000 28 99
"""


NAMES = {"relay": "wormhole-relay", "worker": "exe"}      # a worker is executed from a descriptor


def counts(name, exits, **slept):
    """Return what a job prints at the three pauses for so much in each call."""
    lines = ""
    for reading, calls in enumerate((0, 4, 18)):
        lines += f"exits {name} {1000 + 100 * reading + exits * calls}\n"
        lines += f"slept {name} qemu-system-x86 {50 + 7 * reading}\n"
        lines += f"slept {name} CPU {60 + calls}\n"
        lines += f"slept {name} busybox {5000 * reading}\n"
        for who, each in slept.items():
            lines += f"slept {name} {NAMES[who]} {90 + each * calls}\n"
    return lines


def counted(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data")
        with open(path, "w") as f:
            f.write(text)
        return transports.Counted(vmhost.Data(path))


print("TAP version 13\n1..5")
c = counted(SAID + counts("ring_null_null_call", 3, relay=2, worker=1) + counts("ring_null_pause", 5)
            + counts("ring_null_null_call_after_pause", 8, relay=2, worker=1))
got = c.ticks("ring_null_null_call")
ok(got == (99, 100), "instructions_are_those_of_one_call", got)
got = c.a_call("ring_null_null_call")
ok(got["exits"] == 3 and got["QEMU"] == 0, "what_reading_costs_does_not_count", got)
ok((got["program"], got["vCPUs"], got["relay"], got["worker"]) == (1, 1, 2, 1), "who_is_woken_is_told_apart", got)
got = c.without_pause("ring", transports.AFTER)
ok((got["exits"], got["program"], got["relay"]) == (3, 1, 2), "of_calls_after_a_pause_only_the_call_counts", got)
rows = list(transports.counted_rows({2: c}))
ok([r[0] for r in rows] == ["null call", "null call after a pause"] and rows[1][3:6] == ["99", "1,000", "3.00"],
   "calls_that_did_not_run_have_no_row", rows)
sys.exit(0)
