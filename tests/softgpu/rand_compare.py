#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two outputs of rand_record: REFERENCE, then GOT; TAP on stdout.

Bits and uniforms must be the same to the last bit, and so must their hash. Normals and
log-normals go through sine, logarithm and exponential, which PTX leaves to the device within
bounds: 2e-5 of the value's scale (float), 1e-13 (double).
"""
import math
import re
import struct
import sys

GENERATOR = {"101": "xorwow", "161": "philox", "121": "mrg32k3a"}
KIND = {"b": "bits", "u": "uniform", "U": "uniform_double", "n": "normal", "m": "normal",
        "N": "normal_double", "l": "log_normal", "L": "log_normal_double"}
WHERE = {"0": "by_default", "100": "ordering_best", "101": "ordering_default",
         "103": "ordering_legacy"}


def number(text):
    raw = bytes.fromhex(text)
    return struct.unpack(">d" if len(raw) == 8 else ">f", raw)[0]


def near(want, got, kind):
    a, b = number(want), number(got)
    if math.isnan(a) or math.isnan(b):
        return False
    return abs(a - b) <= (1e-13 if kind in "NL" else 2e-5) * max(1.0, abs(a))


def same_call(want, got):
    """Compares one call's words: what and count, hash, selected values; or a status."""
    if want[:1] != got[:1] or len(want) != len(got):
        return False
    kind = want[0][0]
    if kind in "buU" or "status" in want:
        return want == got
    return all(near(a, b, kind) for a, b in zip(want[2:], got[2:]))


def read(path):
    cases = {}
    for line in open(path):
        head, *calls = line.strip().split(" | ")
        cases[head] = [c.split() for c in calls]
    return cases


def group(head):
    """Returns the point that a case counts for, or None where softgpu differs by design."""
    kind, order, _, offset, steps = head.split()
    if order not in WHERE or re.search(r"[pP]\d", steps):
        return None
    letters = {KIND[s[0]] for s in steps.split(",")}
    what = letters.pop() if len(letters) == 1 else "mixed_calls"
    where = WHERE[order] if order != "0" or offset == "0" else "after_an_offset"
    return "%s_%s_%s_is_the_genuine_sequence" % (GENERATOR[kind], what, where)


def main():
    want, got = read(sys.argv[1]), read(sys.argv[2])
    points = {}
    for head, calls in want.items():
        name = group(head)
        if not name:
            continue
        there = got.get(head)
        good = there is not None and len(there) == len(calls) and \
            all(map(same_call, calls, there))
        points.setdefault(name, []).append((good, head, calls, there))
    print("TAP version 13\n1..%d" % len(points))
    failed = 0
    for i, (name, cases) in enumerate(points.items()):
        bad = [c for c in cases if not c[0]]
        failed += bool(bad)
        print("%sok %d - %s" % ("not " if bad else "", i + 1, name))
        for _, head, calls, there in bad[:2]:
            print("# %s: %d of %d cases differ" % (head, len(bad), len(cases)))
            for a, b in zip(calls, there or [["nothing"]] * len(calls)):
                if not same_call(a, b):
                    print("#   expected %s\n#   got      %s" % (" ".join(a), " ".join(b)))
    sys.exit(failed > 0)


main()
