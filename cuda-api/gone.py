#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes gone_NAME.h: the prototypes of functions that only libraries of older majors have (lines `gone`).

    gone.py NAME WORD MAJOR INCLUDE...  print gone_NAME.h, of the library that the line WORD (`older`, `oldest`)
                                        begins, from headers of that CUDA (majors_MAJOR.txt names the packages)

It has the prototypes, and the types that today's headers lack, as data in a layout of its own. majors.py compares
their shapes with the table of that major.
"""

import sys

import clang.cindex as ci

import headers
import heads

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of {} that the library of today lacks. cuda-api/gone.py writes this
 * file, from CUDA {}'s headers (majors_{}.txt names the packages); {}.api describes
 * the functions.
 */
#ifndef WORMHOLE_GONE_{}_H
#define WORMHOLE_GONE_{}_H

{}
#ifdef __cplusplus
extern "C" {{
#endif

"""
TAIL = """
#ifdef __cplusplus
}
#endif

#endif
"""


def names_of(cursor):
    """Returns all types that a text names."""
    out = set()
    for c in cursor.get_children():
        if c.kind in (ci.CursorKind.LINKAGE_SPEC, ci.CursorKind.UNEXPOSED_DECL):
            out |= names_of(c)
        elif c.kind == ci.CursorKind.TYPEDEF_DECL:
            out.add(c.spelling)
    return out


def base(ctype):
    while ctype.kind in ('pointer', 'array'):
        ctype = ctype.pointee
    return ctype


def typedef(hdr, ctype):
    """Returns the text of a type that today's headers lack. A struct must be known here by its name alone."""
    name = ctype.bare
    if ctype.kind == 'handle':
        struct = ctype.canonical.removesuffix('*').removeprefix('struct ').strip()
        return f'typedef struct {struct} *{name};\n'
    if ctype.kind == 'enum':
        values = ''.join(f'\t{k} = {v},\n' for k, v in hdr.enums[name].items())
        return f'typedef enum {{\n{values}}} {name};\n'
    raise SystemExit(f'gone.py: {name} is a {ctype.kind}, and no handle or enumeration')


def prototype(f):
    """Returns the text of a declaration in lines of less than 100 columns."""
    lines = [f'{f.result.spelling} {f.name}(']
    args = [p.declare() for p in f.params] or ['void']
    for i, arg in enumerate(args):
        text = arg + (', ' if i + 1 < len(args) else ');')
        if len(lines[-1].expandtabs(8)) + len(text.rstrip()) > 98:
            lines.append('\t')
        lines[-1] += text
    return '\n'.join(x.rstrip() for x in lines) + '\n'


def main(argv):
    if len(argv) < 5:
        raise SystemExit(__doc__)
    profile = next(p for p in heads.forwarded() if p.name == argv[1])
    old = profile.of(argv[2])
    keep = set(old.gone).__contains__
    theirs = headers.parse(profile.theirs, cplusplus=True, keep=keep,
                           includes=argv[4:] + [headers.build_folder() + '/headers'])
    today = headers.parse(profile.theirs, cplusplus=True, keep=keep, includes=[headers.build_folder() + '/headers'])
    if today.functions or set(theirs.functions) != set(old.gone):
        raise SystemExit(f'gone.py: {profile.name}: today\'s headers have {sorted(today.functions)}, and those of CUDA '
                         f'{argv[3]} lack {sorted(set(old.gone) - set(theirs.functions))}')
    known, types = names_of(today.tu.cursor), {}
    for f in theirs.functions.values():
        for t in [f.result] + [base(p.type) for p in f.params]:
            if t.kind in ('handle', 'enum', 'record', 'union') and t.bare not in known:
                types.setdefault(t.bare, t)
    name = profile.name.upper()
    print(HEAD.format(old.soname, argv[3], argv[3], profile.name, name, name, profile.theirs), end='')
    print(''.join(typedef(theirs, types[t]) for t in sorted(types)), end='\n' if types else '')
    print(''.join(prototype(theirs.functions[n]) for n in sorted(theirs.functions)), end='')
    print(TAIL, end='')


if __name__ == '__main__':
    main(sys.argv)
