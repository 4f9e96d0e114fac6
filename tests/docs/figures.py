#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Print the measured figures that stand in more than one Markdown file.

    figures.py FILE...

A figure is a number with a unit. Numbers of one or two digits are left out, since too many things are that
large, and so are the sizes and times that the code decides (CONSTANTS). Exit status 1 if there is any.
"""
import collections
import re
import sys

UNIT = r"(?:ns|µs|us|ms|s|instructions|GFLOP/s|[GMK]i?B/s|[GMK]i?B|points|calls a second)"
FIGURE = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+\.\d+|\d{3,})\s+(" + UNIT + r")(?![\w/])")
CONSTANTS = {
    "0.5 s",    # a claim of a turn that nobody confirms
    "100 µs",   # how long a helper thread looks
    "227 KiB",  # shared memory of a block
    "250 ms",   # between two readings of the driver's figures
    "256 MiB",  # near the quota every reading is fresh
}


def figures(path):
    with open(path, encoding="utf-8") as f:
        return {f"{number} {unit}" for number, unit in FIGURE.findall(f.read())}


def main():
    files = collections.defaultdict(list)
    for path in sys.argv[1:]:
        for figure in figures(path) - CONSTANTS:
            files[figure].append(path)
    twice = {figure: paths for figure, paths in files.items() if len(paths) > 1}
    for figure, paths in sorted(twice.items()):
        print(f"{figure}: {', '.join(sorted(paths))}")
    sys.exit(bool(twice))


if __name__ == "__main__":
    main()
