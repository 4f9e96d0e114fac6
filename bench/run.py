#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: runs the parts that are asked for (PARTS, or arguments; all), and
puts what each found into docs/results.md, in the place of what it had found
before. Each section says with which command, at which commit and on what it was
made; what is of a tree with changes goes into build/bench/ instead. Exit status
1 if a part could not be run; no figure is judged.
"""
import importlib
import os
import re
import sys
import time

import report

PARTS = ["calls", "cost", "neuron", "layers", "scaling", "pairs", "model", "softgpu"]
HEAD = os.path.join(report.TOP, "bench/results.in")
SECTION = re.compile(r"<!-- part: (\w+) -->\n(.*?)<!-- end: \1 -->\n", re.S)


def old_sections(path):
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        return dict(SECTION.findall(f.read()))


def write(path, sections):
    with open(HEAD) as f:
        text = f.read()
    for part in PARTS:
        if part in sections:
            text += f"\n<!-- part: {part} -->\n{sections[part]}<!-- end: {part} -->\n"
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)


def measure(part):
    module = importlib.import_module("parts." + part)
    return f"## {module.TITLE}\n\nCommand: `make bench PARTS={part}`.\n{module.section()}\n"


def main():
    asked = sys.argv[1:] or PARTS
    unknown = [p for p in asked if p not in PARTS]
    if unknown:
        sys.exit(f"error: no part {', '.join(unknown)}: there are {' '.join(PARTS)}")
    failed = []
    path = os.path.join(report.results(), "results.md")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for i, part in enumerate(asked):
        start = time.monotonic()
        report.say(f"part {part}, {i + 1} of {len(asked)}")
        try:
            sections = {**old_sections(path), part: measure(part)}
        except report.Missing as e:
            report.say(f"part {part} was not run: {e}")
            failed.append(part)
            continue
        write(path, sections)
        report.say(f"part {part}: {time.monotonic() - start:.0f} s")
    report.say(f"written: {path}")
    sys.exit(f"bench: not run: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
