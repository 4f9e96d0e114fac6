#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Print the measured figures that stand in more than one Markdown file.

    figures.py FILE...

A figure is a number with a unit. Two files have the same one where they have the same value, also in another unit,
and

- it is written the same and is precise: a decimal, or a number of three digits; or
- their sentences or rows share enough nouns to be about the same thing (NOUNS); or
- one is a bare number in a row of a table, and the other's sentence shares two nouns with that row.

Two tables are one where most of their numbers are the same, rounded or not. What people choose is no figure: a size
that is a power of two, all of something (100 %), the length of a kernel, a bound. Exit status 1 if there is any.
"""
import collections
import itertools
import re
import sys

from sentences import paragraphs, sentences

NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
BARE = re.compile(rf"(?<![\w.,/:#-]){NUMBER}(?![\w/:-]|[.,]\w)")
# Units of one kind, and how many of the kind's first each is.
KINDS = {"s": {"s": 1, "second": 1, "ms": 1e-3, "millisecond": 1e-3, "µs": 1e-6, "us": 1e-6, "microsecond": 1e-6,
               "ns": 1e-9, "nanosecond": 1e-9, "minute": 60, "hour": 3600},
         "B": {"byte": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}}
SCALE = {unit: (kind, factor) for kind, units in KINDS.items() for unit, factor in units.items()}
OTHERS = ["instruction", "point", "MFLOP/s", "GFLOP/s", *(f"{p}B/s" for p in "K M G Ki Mi Gi".split()),
          "of native's rate", "of native's time"]
# Of these, equal numbers mean little: there are many.
COUNTS = ["%", "call", "launch", "launche", "handoff", "exit", "request", "access", "accesse", "read", "round", "kill"]
UNIT = rf"(?:{'|'.join(map(re.escape, [*SCALE, *OTHERS, *COUNTS]))})s?(?: a second)?"
FIGURE = re.compile(rf"(?<![\w.,/:#-])({NUMBER}(?:(?:,| to| and| or)\s+{NUMBER})*)(\s+million)?\s+({UNIT})(?![\w/-])")
# Before a number that is put in or promised, and did not come out.
CHOSEN = re.compile(r"\b(?:(?:kernels|launches|copies|rows|windows|runs|turns) of|within|at most|at least|up to|"
                    r"target:) $", re.I)
CERTAINTY = 95  # %, how sure an interval is
# Values that several things have; they say nothing without nouns.
COMMON = {("s", 1e-4),       # 100 µs: how long a helper thread looks; the kernels of a bench
          ("s", 0.25),       # 250 ms: between two readings of the driver's figures
          ("B", 2**18),      # 256 KiB: copies of a bench; the largest file of tenants
          ("B", 2**28)}      # 256 MiB: near the quota every reading is fresh; what a pair touches
# How many nouns are enough, by the significant digits of the number.
NOUNS = {1: 3, 2: 2}
STOP = set("the and are for with from that which not one two each all than has have this there their take took "
           "where what more less about over same per when after before between only into also was were other here "
           "its code median time".split())
# Two tables are one that share so many numbers of three digits, and that part of the smaller one's.
TABLE_LEAST, TABLE_PART = 6, 0.6

Figure = collections.namedtuple("Figure", "path line text unit kind value words row")


def digits(number):
    """Return how many digits of a number are significant."""
    bare = number.replace(",", "")
    return len(bare.replace(".", "").lstrip("0") if "." in bare else bare.strip("0"))


def nouns(text):
    """Return the words of a text that say what it is about."""
    found = re.findall(r"[a-z_]{3,}", text.lower())
    return frozenset(w[:-1] if w.endswith("s") else w for w in found) - STOP - set(SCALE)


def plain(text):
    """Return a text without its code and addresses."""
    text = re.sub(r"`[^`]*`", "code", text)
    return re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))


def scaled(number, million, unit):
    """Return a figure's kind, and its value in the first unit of that kind."""
    name = unit if unit in SCALE else unit[:-1] if unit.endswith("s") else unit
    kind, factor = SCALE.get(name, (name, 1))
    return kind, float(f"{float(number.replace(',', '')) * factor * (1e6 if million else 1):.12g}")


def chosen(number, kind, value):
    """Say whether somebody chose a figure, so that nothing measured it."""
    if kind in COUNTS:
        return digits(number) < 2 or (kind == "%" and value in (100, CERTAINTY))
    power_of_two = value >= 1 and value == int(value) and not int(value) & (int(value) - 1)
    return value == 0 or (kind == "B" and power_of_two and (digits(number) < 3 or (kind, value) in COMMON))


def figures_of(path, line, text, row):
    for m in FIGURE.finditer(text):
        if CHOSEN.search(text[:m.start()]):
            continue
        for number in re.findall(NUMBER, m.group(1)):
            kind, value = scaled(number, m.group(2), m.group(3))
            if not chosen(number, kind, value):
                yield Figure(path, line, number, m.group(3), kind, value, nouns(text), row)


def tables(path):
    """Yield the tables of a file: lists of (line's number, row)."""
    with open(path, encoding="utf-8") as f:
        for is_row, lines in itertools.groupby(enumerate(f, 1), lambda x: x[1].startswith("|")):
            if is_row:
                yield [(number, plain(text)) for number, text in lines]


def figures(path):
    for line, text in paragraphs(path):
        for sentence in sentences(text):
            yield from figures_of(path, line, plain(sentence), False)
    for line, row in itertools.chain.from_iterable(tables(path)):
        yield from figures_of(path, line, row, True)
        for number in BARE.findall(FIGURE.sub("", row)):
            if digits(number) > 2:
                yield Figure(path, line, number, "", None, number, nouns(row), True)


def precise(figure):
    counted = figure.kind in COUNTS or (figure.kind, figure.value) in COMMON
    return bool(re.search(r"\.|\d\d\d", figure.text)) and not counted


def same(a, b):
    """Say whether two figures of the same value are of the same thing."""
    shared = len(a.words & b.words)
    if a.row and b.row and None in (a.kind, b.kind):
        return False
    if None in (a.kind, b.kind):
        return shared >= 2
    if precise(a) and (a.text, a.unit) == (b.text, b.unit):
        return True
    return shared >= NOUNS.get(max(digits(a.text), digits(b.text)), 1) and not (a.row and b.row)


def twice(everything):
    """Yield the pairs of figures that are one."""
    by_value = collections.defaultdict(list)
    for f in everything:
        by_value[f.kind, f.value].append(f)
    for group in [g for (kind, _), g in by_value.items() if kind is not None]:
        bare = {b for f in group for b in by_value.get((None, f.text), [])}
        for a, b in itertools.chain(itertools.combinations(group, 2), itertools.product(group, bare)):
            if a.path != b.path and same(a, b):
                yield a, b


def numbers(table):
    """Return the numbers of a table that have three digits, each as (value, decimals)."""
    found = {n.replace(",", "") for _, row in table for n in BARE.findall(row) if digits(n) > 2}
    return {(float(n), len(n.partition(".")[2])) for n in found}


def equal(a, b):
    """Say whether two numbers are the same, or one of them is the other, rounded."""
    if a[1] == b[1]:
        return a == b
    return abs(a[0] - b[0]) <= 0.5001 * 10 ** -min(a[1], b[1])


def same_tables(paths):
    all_of_them = [(path, t[0][0], numbers(t)) for path in paths for t in tables(path)]
    for a, b in itertools.combinations(all_of_them, 2):
        found = min(sum(any(equal(m, n) for n in y[2]) for m in x[2]) for x, y in ((a, b), (b, a)))
        least = min(len(a[2]), len(b[2]))
        if a[0] != b[0] and found >= max(TABLE_LEAST, TABLE_PART * least):
            yield f"{found} numbers of a table: {a[0]}:{a[1]}, {b[0]}:{b[1]}"


def main():
    pairs = twice(f for path in sys.argv[1:] for f in figures(path))
    ordered = (sorted(pair, key=lambda f: (f.path, f.line)) for pair in pairs)
    found = sorted({f"{a.text} {a.unit or b.unit}: {a.path}:{a.line}, {b.path}:{b.line}" for a, b in ordered})
    found += same_tables(sys.argv[1:])
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
