#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The test promises the report of tests/bochs/run_job.py: what it makes of a job's lines and of the
host's kernel log. No machine is booted."""
import contextlib
import io
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("WH_TOP", "@TOP@"), "tests/bochs"))
import run_job  # noqa: E402

points = []


def report(job, console=(), why=None, plain=False):
    """Returns the exit status and output for a job that wrote these lines."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        r = run_job.Report(plain, io.StringIO())
        for line in console:
            r.kernel_line(line)
        for line in job:
            r.job_line(line)
        status = r.finish(why)
    return status, out.getvalue()


def expect(name, condition, seen):
    points.append((condition, name, seen))


def fails(name, *args, **kw):
    status, out = report(*args, **kw)
    expect(name, status != 0, out)


END = ["@exit 0", "@done"]
GOOD = ["@begin t", "TAP version 13", "1..2", "ok 1 - a", "ok 2 - b", "@end t 0"]

status, out = report(GOOD + END)
expect("good_job_passes", status == 0, out)
expect("points_are_numbered_anew_and_prefixed", "ok 2 - t/b\n" in out and out.endswith("1..4\n"), out)
fails("failing_point_fails", ["@begin t", "1..1", "not ok 1 - a", "@end t 1"] + END)
fails("missing_point_fails", ["@begin t", "1..2", "ok 1 - a", "@end t 0"] + END)
fails("program_that_dies_fails", ["@begin t", "1..1", "ok 1 - a", "@end t 139"] + END)
fails("program_that_says_nothing_fails", ["@begin t", "@end t 0"] + END)
status, out = report(["@begin t", "1..0 # SKIP no VMX", "@end t 4"] + END)
expect("skipped_program_is_a_skip", status == 0 and "# SKIP no VMX" in out, out)
fails("job_without_an_end_fails", GOOD)
fails("job_with_bad_status_fails", GOOD + ["@exit 1", "@done"])
fails("machine_that_stops_early_fails", GOOD + END, why="the machine stopped early")
for what, line in (("warning", "[    1.2] WARNING: CPU: 0 PID: 1 at arch/x86/kvm/x86.c:1 f+0x1/0x2"),
                   ("bug", "BUG: kernel NULL pointer dereference, address: 0"),
                   ("stall", "rcu: INFO: rcu_sched self-detected stall on CPU"),
                   ("lockdep", "WARNING: possible circular locking dependency detected"),
                   ("panic", "Kernel panic - not syncing: x")):
    fails(f"kernel_{what}_fails", GOOD + END, console=[line])
status, out = report(GOOD + END, console=[
    "WARNING: CPU: 0 PID: 0 at arch/x86/kernel/cpu/topology_common.c:57 parse_legacy+0xaf/0xc0"])
expect("known_fault_of_the_emulator_is_let_pass", status == 0, out)
fails("kernel_log_at_the_end_counts", GOOD + ["@kernel 4 [ 1.0] BUG: x"] + END)
status, out = report(["hello"] + END, plain=True)
expect("plain_job_is_passed_through", (status, out) == (0, "hello\n"), out)
fails("plain_job_with_bad_status_fails", ["@exit 1", "@done"], plain=True)

print(f"TAP version 13\n1..{len(points)}")
for i, (good, name, seen) in enumerate(points, 1):
    print(f"{'ok' if good else 'not ok'} {i} - {name}")
    if not good:
        print("".join(f"# {line}\n" for line in seen.splitlines()), end="")
sys.exit(not all(p[0] for p in points))
