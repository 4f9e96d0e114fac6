#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The test promises what bench/hardware.py makes of a file of results of the image for hardware. The file is
a recorded one of the emulated host (hardware_emulated.txt), and changed ones stand for other machines."""
import contextlib
import io
import os
import re
import sys
import tempfile

BUILD = os.environ.get("WH_BUILD") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TOP = os.environ.get("WH_TOP") or os.path.dirname(BUILD)
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, "bench"), os.path.join(TOP, "tests/bench")]
os.environ["WH_COMMIT"] = "0123456789ab"    # a clean tree: only the figures keep it out of docs/
import hardware as program                                          # noqa: E402
import report                                                       # noqa: E402
import run                                                          # noqa: E402
from parts import hardware                                          # noqa: E402
from points import ok                                               # noqa: E402

RECORDED = os.path.join(TOP, "tests/bench/hardware_emulated.txt")
PAGE = os.path.join(TOP, "docs/results.md")
with open(RECORDED) as f:
    TEXT = f.read()
folder = tempfile.TemporaryDirectory()
report.OUT = folder.name


def written(text):
    path = os.path.join(folder.name, "results.txt")
    with open(path, "w") as out:
        out.write(text)
    return path


def page_of(text):
    """Returns what is said of a machine that wrote this text."""
    report.trial = True
    return hardware.text_of(hardware.Results(written(text)), 1, PAGE)


def make(*paths):
    """Returns how the program ends, with the page that it wrote."""
    sys.argv = ["hardware.py", *paths]
    page = os.path.join(folder.name, "results.md")
    run.write(page, {"calls": "one\n"})
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            program.main()
        except SystemExit as e:
            return str(e), ""
    with open(page) as out:
        return "", out.read()


def cells(page, row):
    """Returns the cells of the row that begins so."""
    m = re.search(rf"^\| {re.escape(row)} *\|(.*)\|$", page, re.M)
    return [c.strip() for c in m[1].split("|")] if m else None


def median(line):
    m = re.search(rf"^{line} \w+ \d+ [\d.]+ ([\d.]+)", TEXT, re.M)
    return float(m[1])


def second_run(text):
    """Returns the text with a second run, of another setting."""
    again = text.replace("setting default ", "setting no_mitigations ").replace("cost default ", "cost no_mitigations ")
    again = again.replace("bench default ", "bench no_mitigations ")
    return text + "\n".join(x for x in again.splitlines() if not x.startswith(("pass", "demo"))
                            and "no_apicv" not in x).join(["pass 2\n", "\n"])


print("TAP version 13\n1..12")
status, made = make(RECORDED)
with open(PAGE) as f:
    docs = f.read()
ok(not status and "## On hardware" in made and "i7-7800X" not in docs, "figures_of_an_emulator_go_to_no_page_of_docs", status)
ok("**Emulated: these are no cycles.**" in made, "figures_of_an_emulator_are_marked", made)
ok(run.old_sections(os.path.join(folder.name, "results.md")).get("calls") == "one\n", "other_sections_are_kept", made)
ok(os.path.getsize(os.path.join(folder.name, "figures/hardware_1.svg")) > 1000, "picture_is_drawn", made)
got, want = cells(made, "null call"), median("bench default vmfunc_null_null_call") - median("bench default rdtsc_pair")
ok(got and got[0] == "vmfunc" and re.fullmatch(r"\d+ to \d+", got[1]) and got[2] == f"{want:,.0f}",
   "call_is_beside_the_model_without_what_the_clock_takes", (got, want))
got = cells(made, "VMFUNC that switches, with VPID")
want = (median("cost default vmfunc_there_and_back") - median("cost default two_rdtsc")) / 2
ok(got and got[:2] == ["134 to 169", f"{want:,.0f}"], "cost_of_the_model_is_beside_what_was_measured", (got, want))
got = page_of(TEXT.replace("ticks instructions", "ticks cycles"))
ok("Emulated" not in got and "Cycles of the TSC" in got, "figures_of_a_processor_are_cycles", got)
got = page_of(second_run(TEXT))
ok(cells(got, "no mitigations") and got.count("no mitigations") > 3, "second_run_is_a_setting_of_its_own", got)
got = page_of(re.sub(r"^end\n", "", TEXT, flags=re.M))
ok("run 1 did not come to its end" in got, "run_without_its_end_is_said", got)
got = page_of("hardware 1\ncpu Old\nticks cycles\ncheck EPT        MISSING  none; use another\nnot_ready\nend\n")
ok("- this machine lacks: EPT" in got and "|" not in got, "machine_that_lacks_something_has_no_figures", got)
status, _ = make(written(TEXT.replace("hardware 1", "hardware 7")))
ok("results.txt has no results" in status and "format 1" in status, "other_format_is_refused", status)
status, _ = make(written(TEXT + "bench default launch ticks much\n"))
ok("'bench default launch ticks much' is no figure" in status, "damaged_line_is_refused_by_name", status)
sys.exit(0)
