#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: runs the parts that are asked for (PARTS, or arguments; all), and
puts what each found into docs/results.md, in the place of what it had found
before, as soon as it has been found. Each section says with which command, at
which commit and on what it was made; what is of a tree with changes goes into
build/bench/ instead. A part that fails leaves what it had found before, and
hinders no other. WH_BENCH_RESUME=1: not those that have figures of this very
commit. Exit status 1 if a part could not be run; no figure is judged.
"""
import importlib
import os
import re
import sys
import time
import traceback

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


def section(part, text):
    title = importlib.import_module("parts." + part).TITLE
    return f"## {title}\n\nCommand: `make bench PARTS={part}`.\n{text}\n"


def measure(part):
    return section(part, importlib.import_module("parts." + part).section())


def attempt(part):
    """Its section, or None and why."""
    try:
        return measure(part), ""
    except report.Missing as e:
        return None, str(e)
    except Exception as e:      # pylint: disable=broad-except
        traceback.print_exc()   # what a program said was not what it says
        return None, f"{type(e).__name__}: {e}"


def wanted(asked, path):
    """Without those that are there already, where that is asked for."""
    if not os.environ.get("WH_BENCH_RESUME"):
        return asked
    old, here = old_sections(path), f"commit {report.commit()};"
    return [p for p in asked if here not in old.get(p, "")]


def main():
    asked = sys.argv[1:] or PARTS
    unknown = [p for p in asked if p not in PARTS]
    if unknown:
        sys.exit(f"error: no part {', '.join(unknown)}: there are {' '.join(PARTS)}")
    failed = []
    path = os.path.join(report.results(), "results.md")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    asked = wanted(asked, path)
    for i, part in enumerate(asked):
        start = time.monotonic()
        report.say(f"part {part}, {i + 1} of {len(asked)}")
        text, why = attempt(part)
        sections = old_sections(path)
        if text:
            sections[part] = text
        else:
            report.say(f"part {part} was not run: {why}")
            failed.append(part)
            sections.setdefault(part, section(part, f"\nNot run: {why}."))
        write(path, sections)
        report.say(f"part {part}: {time.monotonic() - start:.0f} s")
    report.say(f"written: {path}")
    sys.exit(f"bench: not run: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
