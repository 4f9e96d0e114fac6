#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares libraries of CUDA 12 and 11 with those of 13: may one serve programs of the other?

    majors.py MAJOR INCLUDE...  print majors_MAJOR.txt, from headers of that CUDA (the packages that the file names)
    majors.py                   print what has another shape in today's headers than in majors_12.txt and majors_11.txt

A shape is a function's result and arguments, with all structs, unions and sizes that they lead to. Numbers
of enumerations are compared one by one: 13 may have more of them, and those that it lacks are only said by
calls that it lacks, too, or refused as unknown numbers.
"""

import hashlib
import os
import sys

import headers
import heads

# Their sonames are those of a later major, so that one file of ours serves both: cuSOLVER's of 11 is that of 12.
SAME = {12: ('curand', 'cusparse'), 11: ('curand', 'cusolver')}
WORD = {12: 'older', 11: 'oldest'}
HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = """# SPDX-License-Identifier: Apache-2.0
# The functions of libraries of CUDA {} with a hash of the shape of each, and the numbers of their enumerations;
# majors.py makes and reads it. From the headers of {}
"""
SOURCES = {12: ('12.9', """nvidia-cublas-cu12 12.9.1.4, nvidia-cufft-cu12 11.4.1.4,
# nvidia-cusolver-cu12 11.7.5.82, nvidia-cusparse-cu12 12.5.10.65, nvidia-curand-cu12 10.3.10.19 and
# nvidia-cuda-cupti-cu12 12.9.79."""),
           11: ('11.8', """nvidia-cublas-cu11 11.11.3.6, nvidia-cufft-cu11 10.9.0.58,
# nvidia-cusolver-cu11 11.4.1.48, nvidia-cusparse-cu11 11.7.5.86, nvidia-curand-cu11 10.3.0.86 and
# nvidia-cuda-runtime-cu11 11.8.89, and nvidia-cuda-cupti-cu11 11.8.87 with empty files for headers that it lacks.""")}


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
    # Headers of an older major declare themselves what ours has of it.
    hdr = headers.parse(profile.theirs if includes else profile.source, cplusplus=True,
                        includes=includes + [headers.build_folder() + '/headers', HERE], keep=mine)
    numbers = {k: v for e, values in hdr.enums.items() if e.lower().startswith('cu') for k, v in values.items()
               if k.lower().startswith(tuple(p.lower() for p in keep))}
    return {n: hash_of(f) for n, f in hdr.functions.items() if mine(n)}, numbers


def compared(major):
    return [p for p in heads.forwarded() if p.of(WORD[major]) or p.name in SAME[major]]


def print_table(major, includes):
    print(HEAD.format(*SOURCES[major]), end='')
    for p in compared(major):
        functions, numbers = read_headers(p, includes)
        for name in sorted(functions):
            print(p.name, name, functions[name])
        for name in sorted(numbers):
            print(p.name, name, '=', numbers[name])


def read_table(major):
    """Returns {library: ({function: hash}, {number's name: value})}."""
    out = {}
    with open(os.path.join(HERE, f'majors_{major}.txt'), encoding='utf-8') as f:
        for library, name, *rest in (line.split() for line in f if not line.startswith('#')):
            functions, numbers = out.setdefault(library, ({}, {}))
            if rest[0] == '=':
                numbers[name] = int(rest[1])
            else:
                functions[name] = rest[0]
    return out


def differences(p, major, functions, numbers, ours, our_numbers):
    """Yields what 13's library has otherwise, and what the head of its description says wrongly."""
    old = p.of(WORD[major])
    # Of libraries with one soname in two majors, the later one's head says what is gone.
    says = old or p.of('older') or heads.Older('', '')
    for name in sorted(set(functions) | set(ours)):
        if name not in ours:
            if name not in says.gone and name not in says.unexported:
                yield f'{name} is in CUDA {major} alone: gone'
        elif name not in functions:
            if name in p.gone:
                if old and name in old.gone:
                    yield f'{name} is not in CUDA {major}: not gone'
                continue
            # An inline function of an older header may stand for one with a version in its name.
            if old and not old.lacks(name) and not any(g.startswith(f'__{name}_') for g in old.gone):
                yield f'{name} is not in CUDA {major}: newer'
        elif functions[name] != ours[name] and not says.differs(name):
            yield f'{name} has another shape in CUDA {major}'
        elif functions[name] == ours[name] and says.differs(name):
            yield f'{name} has the same shape in CUDA {major}'
    for name, value in sorted(numbers.items()):
        if our_numbers.get(name, value) != value and not name.endswith(('_END', '_SIZE', '_KIND_COUNT')):
            yield f'{name} is {value} in CUDA {major}'


def main(argv):
    if len(argv) == 2:
        raise SystemExit(__doc__)
    if len(argv) > 2:
        print_table(int(argv[1]), argv[2:])
        return
    count, ours = 0, {}
    for major in WORD:
        table = read_table(major)
        for p in compared(major):
            if p.name not in ours:
                ours[p.name] = read_headers(p, [])
            for text in differences(p, major, *table.get(p.name, ({}, {})), *ours[p.name]):
                print(f'{p.name}.api: {text}')
        count += sum(len(functions) for functions, _ in table.values())
    print('compared', count)


if __name__ == '__main__':
    main(sys.argv)
