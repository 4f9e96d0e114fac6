#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints circles of includes that have more files than the number given, one a line.

A source and its header count as one file: `a.c` that includes `b.h`, and `b.c` that includes `a.h`,
are a circle of two. Files are read on standard input, one path a line. An include means the file in
the same folder, or else every file whose path ends so. Angle brackets are the system's headers.
"""
import collections
import os
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include "(?:\.\./)*([^"]+)"', re.M)


def graph(files):
    """Returns what each file, without its suffix, includes of the others."""
    named = collections.defaultdict(list)
    for f in files:
        named[os.path.basename(f)].append(f)
    out = collections.defaultdict(set)
    for f in files:
        with open(f, errors='replace') as source:
            included = INCLUDE.findall(source.read())
        own = os.path.splitext(f)[0]
        for name in included:
            found = [h for h in named[os.path.basename(name)] if ('/' + h).endswith('/' + name)]
            beside = [h for h in found if os.path.dirname(h) == os.path.dirname(f)]
            out[own].update(os.path.splitext(h)[0] for h in beside or found)
        out[own].discard(own)
    return out


def circles(edges):
    """Yields the strongly connected components, by Tarjan's algorithm without recursion."""
    number, low, stack, open_ = {}, {}, [], set()
    for root in sorted(edges):
        if root in number:
            continue
        work = [(root, None)]
        while work:
            node, rest = work.pop()
            if rest is None:
                number[node] = low[node] = len(number)
                stack.append(node)
                open_.add(node)
                rest = iter(sorted(edges.get(node, ())))
            for to in rest:
                if to not in number:
                    work += [(node, rest), (to, None)]
                    break
                if to in open_:
                    low[node] = min(low[node], low[to])
            else:
                if low[node] == number[node]:
                    at = stack.index(node)
                    yield sorted(stack[at:])
                    open_.difference_update(stack[at:])
                    del stack[at:]
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])


def main():
    files = [f for f in sys.stdin.read().split() if os.path.exists(f)]
    for circle in circles(graph(files)):
        if len(circle) > int(sys.argv[1]):
            print(len(circle), 'files:', ' '.join(circle))


if __name__ == '__main__':
    main()
