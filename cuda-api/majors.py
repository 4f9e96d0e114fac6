#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares libraries of CUDA 12 with those of 13: may one serve programs of the other?

    majors.py INCLUDE    print majors_12.txt, from headers of CUDA 12 (the packages that majors_12.txt names)
    majors.py            print what has another shape in today's headers than in majors_12.txt

A shape is a function's result and arguments, with all structs, unions and sizes that they lead to. Numbers
of enumerations are compared one by one: 13 may have more of them, and those that it lacks are only said by
calls that it lacks, too, or refused as unknown numbers.
"""

import hashlib
import os
import sys

import headers
import heads

# Their sonames are the same in both, so that one file of ours serves both.
SAME = ('curand', 'cusparse')
HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, 'majors_12.txt')
HEAD = """# SPDX-License-Identifier: Apache-2.0
# The functions of libraries of CUDA 12.9 with a hash of the shape of each, and the numbers of their enumerations;
# majors.py makes and reads it. From the headers of nvidia-cublas-cu12 12.9.1.4, nvidia-cufft-cu12 11.4.1.4,
# nvidia-cusolver-cu12 11.7.5.82, nvidia-cusparse-cu12 12.5.10.65 and nvidia-curand-cu12 10.3.10.19.
"""


def shape(t, above=()):
    """Returns a type as text; a struct inside itself is its depth."""
    if t.kind == 'pointer':
        return '*' + shape(t.pointee, above)
    if t.kind == 'array':
        return f'[{t.count}]' + shape(t.pointee, above)
    if t.kind in ('record', 'union') and t.size:
        if t.canonical in above:
            return f'^{above.index(t.canonical)}'
        inside = above + (t.canonical,)
        return f'{t.kind}{t.size}{{' + ''.join(f'{f.offset}:{shape(f.type, inside)};' for f in t.fields) + '}'
    return f'{t.kind}{t.size}{"" if t.kind != "int" or t.signed else "u"}'


def hash_of(f):
    text = ','.join(shape(t) for t in [f.result] + [p.type for p in f.params])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_headers(profile, includes):
    keep = profile.prefix.split('|')
    mine = lambda name: name.startswith(tuple(keep))      # noqa: E731
    hdr = headers.parse(profile.source, cplusplus=True, includes=includes + [headers.build_folder() + '/headers'],
                        keep=mine)
    numbers = {k: v for e, values in hdr.enums.items() if e.lower().startswith('cu') for k, v in values.items()
               if k.lower().startswith(tuple(p.lower() for p in keep))}
    return {n: hash_of(f) for n, f in hdr.functions.items() if mine(n)}, numbers


def compared():
    return [p for p in heads.forwarded() if p.older or p.name in SAME]


def print_table(include):
    print(HEAD, end='')
    for p in compared():
        functions, numbers = read_headers(p, [include])
        for name in sorted(functions):
            print(p.name, name, functions[name])
        for name in sorted(numbers):
            print(p.name, name, '=', numbers[name])


def read_table():
    """Returns {library: ({function: hash}, {number's name: value})}."""
    out = {}
    with open(TABLE, encoding='utf-8') as f:
        for library, name, *rest in (line.split() for line in f if not line.startswith('#')):
            functions, numbers = out.setdefault(library, ({}, {}))
            if rest[0] == '=':
                numbers[name] = int(rest[1])
            else:
                functions[name] = rest[0]
    return out


def differences(p, functions, numbers):
    """Yields what 13's library has otherwise, and what the head of its description says wrongly."""
    ours, our_numbers = read_headers(p, [])
    for name in sorted(set(functions) | set(ours)):
        if name not in ours:
            if name not in p.gone:
                yield f'{name} is in CUDA 12 alone: gone'
        elif name not in functions:
            # An inline function of 12's header may stand for one with a version in its name.
            if p.older and name not in p.newer and not any(g.startswith(f'__{name}_') for g in p.gone):
                yield f'{name} is not in CUDA 12: newer'
        elif functions[name] != ours[name]:
            yield f'{name} has another shape in CUDA 12'
    for name, value in sorted(numbers.items()):
        if our_numbers.get(name, value) != value and not name.endswith('_END'):
            yield f'{name} is {value} in CUDA 12'


def main(argv):
    if len(argv) > 2:
        raise SystemExit(__doc__)
    if len(argv) == 2:
        print_table(argv[1])
        return
    table = read_table()
    for p in compared():
        for text in differences(p, *table.get(p.name, ({}, {}))):
            print(f'{p.name}.api: {text}')
    print('compared', sum(len(functions) for functions, _ in table.values()))


if __name__ == '__main__':
    main(sys.argv)
