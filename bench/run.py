#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: runs the requested parts (PARTS, or arguments; default: all). As soon as a
part has finished, its section replaces the older one in docs/results.md. Each section
names the command, the commit and the machine that made it. If the tree has changes, the
sections go into build/bench/ instead. If a part fails, its older section stays, and the
other parts still run. WH_BENCH_RESUME=1 skips parts that have figures of this very
commit. The exit status is 1 if a part could not be run. No figure is judged.
"""
import importlib
import os
import re
import sys
import time
import traceback

import report

PARTS = ["calls", "cost", "transports", "neuron", "layers", "scaling", "pairs", "hardware", "model",
         "softgpu"]
BROUGHT = ["hardware"]  # by other machines (hardware.py); not measured here
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
    """Return the part's section and "", or None and the reason."""
    try:
        return measure(part), ""
    except report.Missing as e:
        return None, str(e)
    except Exception as e:      # pylint: disable=broad-except
        traceback.print_exc()   # the exception does not repeat what a program printed
        return None, f"{type(e).__name__}: {e}"


def wanted(asked, path):
    """Return the parts to run. WH_BENCH_RESUME leaves out those with figures of this commit."""
    if not os.environ.get("WH_BENCH_RESUME"):
        return asked
    old, here = old_sections(path), f"commit {report.commit()};"
    return [p for p in asked if here not in old.get(p, "")]


def main():
    asked = sys.argv[1:] or [p for p in PARTS if p not in BROUGHT]
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
