#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The test promises that bench/record.py finds the marked calls in a record of the instrumented
emulator, and divides each call by the purpose of its instructions.

It works on a made-up record: a stub at 0x1000, the trampoline, a worker at 0x2000 with a driver
at 0x3000 and a C library at 0x4000.
"""
import os
import sys
import tempfile

BUILD = os.environ.get("WH_BUILD") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TOP = os.environ.get("WH_TOP") or os.path.dirname(BUILD)
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, "bench"), os.path.join(TOP, "tests/bench")]
import record                                                       # noqa: E402
from points import ok                                               # noqa: E402

T = record.TRAMPOLINE
OWN, VIEW, SERVER, CR3 = 0x1e, 0x2e, 0x3e, 0x7000
FSGS = record.CLASSES.index("fsgsbase")
FUNC = record.CLASSES.index("vmfunc")


def space(root, cr3=CR3, cpu=0):
    return ("S", 0, cpu, 0, root, cr3)


def run(address, n=1, kind=0, cpl=3, cpu=0):
    return [("I", cpl, cpu, kind, address, address)] * n


def exit_for(reason):
    return [("X", 0, 0, 0, reason, 0)]


# The call has 2 instructions of the bench itself, 3 of the stub, 4 on the way out and one that
# loads a base, 5 of the worker, 6 of the driver with 7 of the C library, and 3 on the way back.
CALL = ([space(OWN)] + run(0x500, 2) + run(0x1000, 3) + run(T + 0x40, 3) + run(T + 0x50, 1, FSGS)
        + run(T + 0x60, 1, FUNC) + [space(VIEW)] + run(0x2000, 5) + run(0x3000, 6) + run(0x4000, 7)
        + run(T + 0x80, 2) + run(T + 0x90, 1, FUNC) + [space(OWN)] + run(0x1000, 1))
CLIENT = record.Maps([(0x500, 0x600, "stages"), (0x1000, 0x2000, "libcuda.so.1")])
WORKER = record.Maps([(0x2000, 0x3000, "wormhole-worker"), (0x3000, 0x4000, "libcuda.so.1"),
                      (0x4000, 0x5000, "libc.so.6")])


def is_driver(world, name):
    return world == "view" and name == "libcuda.so.1"


def parts(records):
    return record.breakdown(record.Call(records, CLIENT, WORKER), is_driver)


def written(*calls):
    """Reads the records through a file, as the emulator writes it."""
    with tempfile.NamedTemporaryFile() as f:
        for what, records in calls:
            for r in [("B", 0, 0, 0, what, 0), *records, ("E", 0, 0, 0, 0, 0)]:
                f.write(record.RECORD.pack(ord(r[0]), r[1], r[2], r[3], 0, r[4], r[5]))
        f.flush()
        return list(record.calls(f.name))


print("TAP version 13\n1..10")
found = written((7, CALL), (8, CALL[:5]))
ok([w for w, _ in found] == [7, 8] and found[0][1] == CALL, "marked_calls_are_found", found)
got = parts(CALL)
ok(got == {"copy": 11, "switch": 7, "FS/GS": 1, "handler": 13}, "call_is_divided_by_what_runs", got)
got = record.Call(CALL, CLIENT, WORKER).by_place[("view", "libcuda.so.1")]
ok(got == 13, "c_library_counts_as_its_callers", got)
late = CALL[:-9] + exit_for(52) + [space(0, 0x1)] + run(record.KERNEL, 9, cpl=0) + [space(VIEW)] + CALL[-9:]
call = record.Call(late, CLIENT, WORKER)
ok(call.disturbed() and not record.Call(CALL, CLIENT, WORKER).disturbed(),
   "calls_with_an_interrupt_of_the_host_are_told_apart")
got = parts(late)
ok(got["switch"] == 16, "what_the_host_runs_is_switch", got)
call = record.Call(CALL + exit_for(59), CLIENT, WORKER)
ok(call.count("vmfunc") == 2 and call.exits["vmfunc"] == 1 and not call.disturbed(),
   "exits_are_counted_by_reason", call.exits)
other = CALL + [space(SERVER, 0x9)] + run(0x2000, 4) + run(record.KERNEL, 2, cpl=0)
call = record.Call(other, CLIENT, WORKER)
ok(call.by_place[("server", "wormhole-worker")] == 4 and call.by_place[("server", "kernel")] == 2,
   "server_vm_is_told_from_the_view", call.by_place)

# A client that is a process of the host: its worker has CR3 0x9000 and the same C library.
HOST, WORKER_CR3, PAUSE = 0, 0x9000, record.CLASSES.index("pause")
HOST_CODE = record.Maps([(0x6000, 0x7000, "wormhole-server"), (0x8000, 0x9000, "libcuda.so.1"),
                         (0x4000, 0x5000, "libc.so.6")])
ROUND = run(0x1010, 2) + run(0x1018, 1, PAUSE)
LOCAL = ([space(HOST)] + run(0x1000, 3) + run(record.KERNEL, 4, cpl=0) + ROUND * 5 + [space(HOST, WORKER_CR3, 1)]
         + run(0x6000, 5, cpu=1) + run(0x8000, 6, cpu=1) + run(0x4000, 7, cpu=1)
         + run(record.KERNEL, 8, cpl=0, cpu=1) + [space(HOST, 0xa000, 1)] + run(0xb000, 99, cpu=1) + run(0x1000, 1))
call = record.Call(LOCAL, CLIENT, None, HOST_CODE)
got = record.breakdown(call, lambda world, name: (world, name) == ("host", "libcuda.so.1"))
ok(got == {"copy": 24, "switch": 12, "FS/GS": 0, "handler": 13}, "worker_in_the_host_is_told_from_its_client", got)
ok(call.by_mode == {("client", "user"): 19, ("client", "kernel"): 4, ("host", "user"): 18, ("host", "kernel"): 8},
   "user_mode_is_told_from_kernels", call.by_mode)
other = record.Call([space(HOST)] + (ROUND + run(0x1020, record.LOOP)) * 3, CLIENT, None)
ok(record.waited(call) == 12 and record.waited(other) == 0, "what_polls_is_told_from_what_works",
   (record.waited(call), record.waited(other)))
sys.exit(0)
