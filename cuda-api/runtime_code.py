#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the tables by which the preload library knows the functions of a stripped static runtime.

    runtime_code.py BUILD=LIBCUDART_STATIC... > runtime_code.txt     from NVIDIA's libraries
    runtime_code.py --source runtime_code.txt > gen_cudart_code.c     for the preload library

The libraries come from tools/get-runtimes.sh. Those of 11.2, 11.8 and 12.4 are from Debian's packages
nvidia-cuda-dev, that of 12.0 is from Ubuntu 24.04's. Of each public function the table has the
size, where the linker fills something in, a hash of all other bytes, and where it begins in the
runtime.
"""

import re
import struct
import sys

import gen_runtime
import runtime_older

HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
# Made by runtime_code.py from NVIDIA's static libraries: sizes and hashes of public functions.
#   builds BUILD...      builds of the runtime that have these functions at these places
#   NAME SIZE FILLED HASH GAP
# FILLED has the bytes that the linker fills in, as FIRST-LAST; HASH is FNV-1a over all others, in hexadecimal; GAP is
# how far behind the beginning of the function above it the function begins.
'''
RUN = 6          # CODE_RUN of the preload library
# What the linker may change: the 4 bytes of an address, and for a load from the GOT also the 3
# bytes of the instruction before it.
CHANGES = {2: 0, 4: 0, 9: 3, 42: 3}


def fnv(data):
    h = 0xcbf29ce484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def member(path):
    """Returns the one object in the archive."""
    with open(path, 'rb') as f:
        data = f.read()
    at, found = 8, []
    while at < len(data):
        name, size = data[at:at + 16], int(data[at + 48:at + 58])
        if not name.startswith(b'/'):
            found.append(data[at + 60:at + 60 + size])
        at += 60 + size + size % 2
    if len(found) != 1:
        raise SystemExit(f'runtime_code.py: {path} has {len(found)} objects')
    return found[0]


class Object:
    """The functions of an object file and what the linker fills in."""

    def __init__(self, data):
        self.data = data
        at, = struct.unpack_from('<Q', data, 40)
        count, = struct.unpack_from('<H', data, 60)
        self.sections = [struct.unpack_from('<IIQQQQIIQQ', data, at + 64 * i) for i in range(count)]
        table = next(s for s in self.sections if s[1] == 2)
        names = self.sections[table[6]][4]
        self.funcs = []
        for i in range(table[5] // 24):
            name, info, _, section, value, size = struct.unpack_from('<IBBHQQ', data, table[4] + 24 * i)
            if info & 15 == 2 and section:
                self.funcs.append((value, size, data[names + name:data.index(0, names + name)].decode(), section))

    def relocations(self, section):
        out = []
        for s in self.sections:
            if s[1] == 4 and s[7] == section:
                for i in range(s[5] // 24):
                    where, info = struct.unpack_from('<QQ', self.data, s[4] + 24 * i)
                    out.append((where, info & 0xffffffff))
        return sorted(out)

    def code(self, section, at, size):
        return self.data[self.sections[section][4] + at:][:size]


def bodies(path):
    """Returns [(offset, name, size, filled, hash)] of the public functions, and where all functions begin."""
    obj = Object(member(path))
    public = sorted(f for f in obj.funcs if re.match('(__)?cuda[A-Z]', f[2]))
    section = public[0][3]
    filled = obj.relocations(section)
    out = []
    for at, size, name, where in public:
        if where != section:
            raise SystemExit(f'runtime_code.py: {path}: {name} is in another section')
        code, gaps = bytearray(obj.code(section, at, size)), []
        for pos, kind in filled:
            if at <= pos < at + size:
                gaps.append((pos - at - CHANGES[kind], pos - at + 3))
        kept = b''.join(code[i:i + 1] for i in range(size) if not any(a <= i <= b for a, b in gaps))
        out.append((at - public[0][0], name, size, ','.join(f'{a}-{b}' for a, b in gaps) or '-', f'{fnv(kept):016x}'))
    starts = sorted({f[0] - public[0][0] for f in obj.funcs if f[3] == section})
    return out, starts


def check_run(funcs, starts, path):
    """The first functions lie side by side, as no others do: by their distances, a runtime is found."""
    gaps = [b - a for a, b in zip(starts, starts[1:])]
    i = starts.index(0)
    run = gaps[i:i + RUN - 1]
    if [f[0] for f in funcs[:RUN]] != starts[i:i + RUN] or \
            sum(gaps[j:j + RUN - 1] == run for j in range(len(gaps))) != 1:
        raise SystemExit(f'runtime_code.py: {path}: the first {RUN} functions are no run that is there only once')


def check_names(build, funcs):
    versions, life = gen_runtime.lifetimes(gen_runtime.read_calls())
    v = versions.index('.'.join(build.split('.')[:2]))
    if {f[1] for f in funcs} != {n for n, (first, last) in life.items() if first <= v <= last}:
        raise SystemExit(f'runtime_code.py: {build} has other names than runtime_names.txt says')


def make(args):
    groups = {}
    for build, path in (a.split('=', 1) for a in args):
        funcs, starts = bodies(path)
        check_names(build, funcs)
        check_run(funcs, starts, path)
        before = [0] + [f[0] for f in funcs]
        lines = tuple((*f[1:], f[0] - at) for f, at in zip(funcs, before))
        groups.setdefault(lines, []).append(build)
    sys.stdout.write(HEAD)
    for lines, builds in groups.items():
        print('builds', *builds)
        for words in lines:
            print(*words)


# --- The source that is made of the table ---------------------------------------------------

def read(path):
    """Returns [(builds, lines)]."""
    groups = []
    with open(path, encoding='utf-8') as f:
        for word, *rest in (line.split() for line in f if not line.startswith('#')):
            if word == 'builds':
                groups.append((rest, []))
            else:
                groups[-1][1].append((word, *rest))
    return groups


def label(builds):
    """Returns what the builds are called: their versions, each once."""
    return ' or '.join(dict.fromkeys('.'.join(b.split('.')[:2]) for b in builds))


def source(path):
    groups = read(path)
    calls = gen_runtime.read_calls()
    exports = gen_runtime.export_of(runtime_older.all_calls(calls, gen_runtime.read_names()[1]))
    masks, spans = {}, []
    for mask in sorted({line[2] for _, lines in groups for line in lines}):
        masks[mask] = len(spans)
        for span in mask.split(',') if mask != '-' else []:
            first, last = span.split('-')
            spans.append(f'{{ {first}, {int(last) + 1} }}')
        spans.append('{ UINT16_MAX, UINT16_MAX }')
    out = ['/* SPDX-License-Identifier: Apache-2.0 */',
           '/* Generated by cuda-api/runtime_code.py from cuda-api/runtime_code.txt. Do not edit. */',
           '#include "code.h"', '', 'const struct code_span code_spans[] = {']
    out += [f'\t{span},' for span in spans] + ['};']
    table = []
    for i, (builds, lines) in enumerate(groups):
        at, version = 0, '.'.join(builds[-1].split('.')[:2])
        export = exports[int(version.split('.')[0])]
        out.append(f'static const struct code_func f{i}[] = {{')
        for name, size, mask, value, gap in lines:
            at += int(gap)
            out.append(f'\t{{ 0x{value}, {at}, {size}, {masks[mask]}, {export[name]} }},')
        out.append('};')
        number = gen_runtime.version_number(version)
        table.append(f'\t{{ "{label(builds)}", {number}, {len(lines)}, f{i} }},')
    out += ['', 'const struct code_build code_builds[] = {'] + table + ['\t{ NULL, 0, 0, NULL },', '};']
    print('\n'.join(out))


if __name__ == '__main__':
    if sys.argv[1] == '--source':
        source(sys.argv[2])
    else:
        make(sys.argv[1:])
