#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench/trace.py divides a call that the emulator wrote down into its stages.

Works on a made-up trace: a stub at 0x1000, the trampoline, a handler at 0x2000.
"""
import os
import sys
import tempfile

BUILD = os.environ.get("WH_BUILD") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TOP = os.environ.get("WH_TOP") or os.path.dirname(BUILD)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "bench"))
import trace as stage_trace                                         # noqa: E402

T = stage_trace.TRAMPOLINE
MAP = ("0040 delegate_to_server\n0089 wh_land_entry\n0157 wh_land_entry.call\n"
       "0159 wh_land_entry.return\n0195 wh_land_entry.leave\n01c4 wh_gate_home\n")
STUB, HANDLER, KERNEL = 0x1000, 0x2000, 0xffffffff81000000

# (address, length): the bench's call, stub 3, out 4, handler 2, back 3, after 1.
CALL = [(0x500, 2), (STUB, 1), (STUB + 1, 4), (STUB + 5, 3),
        (T + 0x40, 4), (T + 0x86, 3), (T + 0x89, 7), (T + 0x157, 2),
        (HANDLER, 2), (HANDLER + 2, 1),
        (T + 0x159, 3), (T + 0x195, 3), (T + 0x1c4, 7),
        (STUB + 8, 1), (0x502, 3)]
EXPECTED = [3, 4, 2, 3, 1]
number = 0


def ok(good, name, got=None):
    global number
    number += 1
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good:
        print(f"# got {got}")


def text(call, tick=1000):
    lines = ["(0) Magic breakpoint", "trace on", "Tracing enabled for CPU0", "c"]
    for i, (address, length) in enumerate(call):
        lines.append(f"(0).[{tick + i}] [0x{address & 0xffffff:012x}] 0033:{address:016x} "
                     f"(unk. ctxt): nop    ; {'90' * length}")
    return "\n".join(lines + ["(0) Magic breakpoint", "Next at t=1", "trace off",
                              "Tracing disabled for CPU0", "(0) Magic breakpoint", ""])


def parse(*calls):
    """Sections and symbols, by way of files as the bench finds them."""
    with tempfile.TemporaryDirectory() as d:
        for name, content in (("trace", "".join(map(text, calls))), ("map", MAP)):
            with open(os.path.join(d, name), "w") as f:
                f.write(content)
        return (list(stage_trace.sections(os.path.join(d, "trace"))),
                stage_trace.read_map(os.path.join(d, "map")))


def divided(call):
    sections, symbols = parse(call)
    return stage_trace.stages(sections[0], STUB, symbols)


def fails(call):
    try:
        return divided(call) and None
    except ValueError as e:
        return str(e)


print("TAP version 13\n1..6")
found = len(parse(CALL, CALL, CALL)[0])
ok(found == 3, "marked_calls_are_found", found)
ok(divided(CALL) == EXPECTED, "stages_end_where_the_page_map_says", divided(CALL))
again = CALL[:9] + [(KERNEL, 2)] * 5 + CALL[9:]
ok(divided(again) == [3, 4, 7, 3, 1], "interrupt_counts_in_its_stage", divided(again))
ok([stage_trace.in_kernel(s) for s in parse(CALL, again)[0]] == [False, True],
   "calls_with_an_interrupt_are_told_apart")
refused = CALL[:6] + CALL[12:]
ok("never reaches" in (fails(refused) or ""), "call_that_never_ran_the_handler_is_an_error", fails(refused))
ok("never reaches" in (fails(CALL[:-1]) or ""), "call_that_never_returned_is_an_error", fails(CALL[:-1]))
sys.exit(0)
