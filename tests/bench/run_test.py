#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The test promises what `make bench` does with parts that fail, and where it goes on later. No
part runs: others stand in for them."""
import contextlib
import io
import os
import sys
import tempfile
import types

BUILD = os.environ.get("WH_BUILD") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("WH_TOP") or os.path.dirname(BUILD), "bench"))
os.environ["WH_COMMIT"] = "0123456789ab-dirty"  # nothing goes to docs/
import report  # noqa: E402
import run  # noqa: E402

points = []


def part(name, answer):
    """Makes a part whose section() returns this answer, or raises it."""
    def section():
        if isinstance(answer, BaseException):
            raise answer
        return answer
    module = types.ModuleType("parts." + name)
    module.TITLE = f"Part {name}"
    module.section = section
    sys.modules["parts." + name] = module


def bench(resume=False, **answers):
    """Returns the exit status, and results.md, after a run of the named parts."""
    for name, answer in answers.items():
        part(name, answer)
    run.PARTS = list(answers)
    sys.argv = ["run.py", *answers]
    os.environ.pop("WH_BENCH_RESUME", None)
    if resume:
        os.environ["WH_BENCH_RESUME"] = "1"
    status = 0
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            run.main()
        except SystemExit as e:
            status = e.code
    with open(os.path.join(report.OUT, "results.md")) as f:
        return status, f.read()


def expect(name, condition, seen):
    points.append((bool(condition), name, seen))


def script(text, **keywords):
    """Returns report.script() of a script with this text."""
    path = os.path.join(report.TOP, "bench/script")
    with open(path, "w") as f:
        f.write("#!/bin/bash\n" + text)
    os.chmod(path, 0o755)
    try:
        return report.script("script", **keywords)
    except report.Missing as e:
        return type(e)


def main():
    status, text = bench(first="one of commit 1;", second="two")
    expect("each_part_has_its_section", not status and "## Part first" in text and "two" in text, text)
    status, text = bench(first=report.Missing("no luck"), second="another two")
    expect("a_part_that_fails_keeps_what_it_had", "one of commit 1;" in text, text)
    expect("and_hinders_no_other", "another two" in text, text)
    expect("but_is_an_error", status and "first" in status, status)
    status, text = bench(first="three", second=KeyError("word"), third="four")
    expect("so_does_one_that_stumbles", "another two" in text and "four" in text and status, text)
    status, text = bench(first="three", fourth=report.Missing("no such device"))
    expect("one_that_never_ran_says_why", "Not run: no such device." in text, text)
    status, text = bench(first="commit 0123456789ab-dirty; one", second="commit 0; two")
    _, text = bench(resume=True, first="again", second="commit 0123456789ab-dirty; again two")
    expect("what_has_figures_of_this_commit_is_not_run_again", "dirty; one" in text and "again two" in text, text)
    expect("a_script_that_fails_is_missing", script("exit 3") is report.Missing, "")
    expect("what_a_script_prints_comes_back", script("echo $WORD", WORD="word") == "word\n", "")
    expect("one_that_takes_too_long_is_stopped", script("sleep 100 & sleep 100", seconds=1) is report.Stopped, "")


with tempfile.TemporaryDirectory() as folder:
    report.OUT, report.TOP = folder, folder
    os.makedirs(os.path.join(folder, "bench"))
    run.HEAD = os.path.join(folder, "head")
    with open(run.HEAD, "w") as f:
        f.write("# Results\n")
    main()

print("TAP version 13")
print(f"1..{len(points)}")
for n, (good, name, seen) in enumerate(points, 1):
    print(f"{'ok' if good else 'not ok'} {n} - {name}")
    if not good:
        print("\n".join("# " + line for line in str(seen).splitlines()))
sys.exit(not all(p[0] for p in points))
