#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""`make -C bench hardware FILE=...`: puts what machines wrote that booted the image for hardware into
docs/results.md, with pictures. FILE names the files of all machines, since they take the place of the
section that was there. An emulated host's figures are for a trial: they go to build/bench/.
"""
import os
import sys

import report
import run
from parts import hardware


def main():
    paths = sys.argv[1:]
    if not paths:
        sys.exit("error: FILE names no results of the image for hardware: make -C bench hardware FILE=RESULTS")
    try:
        found = [hardware.Results(p) for p in paths]
        report.trial = any(r.emulated for r in found)
        model = os.path.join(report.TOP, "docs/results.md")
        text = "\n\n".join(hardware.text_of(r, n, model) for n, r in enumerate(found, 1))
    except (OSError, report.Missing) as e:
        sys.exit(f"error: {e}")
    page = os.path.join(report.results(), "results.md")
    os.makedirs(os.path.dirname(page), exist_ok=True)
    command = f"make -C bench hardware FILE={' '.join(map(os.path.basename, paths))}"
    sections = run.old_sections(page)
    sections["hardware"] = f"## {hardware.TITLE}\n\nCommand: `{command}`.\n\n{text}\n"
    run.write(page, sections)
    report.say(f"written: {page}")


if __name__ == "__main__":
    main()
