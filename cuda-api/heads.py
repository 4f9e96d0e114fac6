#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the heads of *.api and *.refused: each says facts about its library itself.

Owns the words that need no header of NVIDIA's (README.md lists them); describe.py reads the
rest. All lists of libraries come from here.

Usage: heads.py OUTDIR       write build products
       heads.py --headers    print where headers come from, a line for each package

Products: gen_libraries.h (numbers, and a macro over all names), gen_libraries_server.h
(includes gen_NAME_server.h of each), gen_libraries.mk (for libraries.mk), gen_libraries.list
(for scripts; its first line names the columns).
"""

import fnmatch
import glob
import os
import re
import sys
from dataclasses import dataclass, field

from gen_common import wire_text, write

HERE = os.path.dirname(os.path.abspath(__file__))
# Bits of the worker's and the client's words about libraries; 0 is the driver.
MOST = 32
# Types in the worker's handle table: the driver's come first.
TYPES = 255


@dataclass
class Older:
    """The library of an older major, which is linked from the same objects: its functions have the same shapes."""
    word: str                                    # 'older': that of CUDA 12; 'oldest': that of CUDA 11
    soname: str
    besides: list = field(default_factory=list)
    newer: list = field(default_factory=list)    # functions that it lacks; patterns of names
    gone: list = field(default_factory=list)     # functions that it alone has; refused, if no gone_NAME.h has them
    unlike: list = field(default_factory=list)   # functions with structs of other sizes, which our code knows
    unexported: list = field(default_factory=list)   # declared there, but not in the genuine library

    @property
    def cuda(self):
        return {'older': 12, 'oldest': 11}[self.word]

    def lacks(self, name):
        return name not in self.gone and any(fnmatch.fnmatchcase(name, p) for p in self.newer)

    def differs(self, name):
        return any(fnmatch.fnmatchcase(name, p) for p in self.unlike)


@dataclass
class Profile:
    """The spellings that the code of one API has for what all of them have."""
    name: str = 'cuda'
    number: int = 0
    soname: str = 'libcuda.so.1'
    prefix: str = 'cu'
    title: str = ''                              # the documents' name for it
    package: list = field(default_factory=list)  # on PyPI, with headers: NAME==VERSION and its hash
    header: list = field(default_factory=list)   # a file, and how to know that it is of that version
    included: list = field(default_factory=list)  # packages with headers that these headers include, and a file
    functions: int = 0                           # the number that the headers declare
    refused: bool = False                        # no worker belongs to it: NAME.refused
    source: str = ''
    status: str = 'CUresult'
    success: str = 'CUDA_SUCCESS'
    errors: dict = field(default_factory=lambda: {
        'handle': 'CUDA_ERROR_INVALID_HANDLE', 'value': 'CUDA_ERROR_INVALID_VALUE',
        'missing': 'CUDA_ERROR_NOT_SUPPORTED'})
    answers: list = field(default_factory=list)  # statuses besides success that come with outputs
    types: tuple = (0, 64)                       # the first handle type, and how many there are
    nodes: dict = field(default_factory=dict)    # version nodes of the exports that have their own
    unversioned: bool = False                    # the genuine exports have no version
    bare: bool = False                           # needs neither cuInit nor a context
    version: str = ''                            # the function that says the library's version; else a property
    loaded: str = ''                             # the worker's hook after loading it
    open: str = ''                               # the client's own function that says whether calls may be made
    exports: list = field(default_factory=list)  # functions that no header of ours declares
    besides: list = field(default_factory=list)  # files of its folder that it opens itself
    olders: list = field(default_factory=list)   # those of older majors
    kinds: dict = field(default_factory=dict)    # the type that is sent, by the name of a value kind
    include: str = ''                            # the worker's header that declares what annotations call
    moves: dict = field(default_factory=dict)    # fields of objects that are addresses
    follows: list = field(default_factory=list)  # opaque structs that end with what they were made from
    keeps: dict = field(default_factory=dict)    # the words behind the names of kept descriptors
    parts: dict = field(default_factory=dict)    # table.py makes its code: soname of each header's functions

    def of(self, word):
        """Returns the library of the older major that has that word, or None."""
        return next((o for o in self.olders if o.word == word), None)

    @property
    def part_sonames(self):
        """Returns the libraries besides the first one that its functions are in."""
        return sorted(set(self.parts.values()) - {self.soname})

    @property
    def driver(self):
        return self.number == 0

    @property
    def theirs(self):
        """Returns the source without what is ours: the prototypes of functions that today's headers lack."""
        return re.sub(r'#include <gone_\w+\.h>\n', '', self.source)

    @property
    def gone(self):
        """Returns the functions that only libraries of older majors have."""
        return {name for o in self.olders for name in o.gone}

    @property
    def variable(self):
        """Returns the library's part of the names of NVIDIA's variables and of ours, WORMHOLE_..."""
        return self.name.upper()

    @property
    def versioned(self):
        """Returns NVIDIA's version node, which is the soname. The linker accepts none with a '-', and then
        there is none."""
        return not self.unversioned and re.match(r'[\w.]+$', self.soname) is not None

    def node(self, name, soname=''):
        """Returns the version of an export of the library, or of that soname; '' if it has none."""
        return self.nodes.get(name, (soname or self.soname) if self.versioned else '')


def head_line(profile, words):
    """Reads one line about the library itself. False: it is another line."""
    word, rest = words[0], words[1:]
    if word == 'library':
        profile.name, profile.number, profile.soname, profile.prefix = rest[0], int(rest[1]), rest[2], rest[3]
    elif word == 'define':
        profile.source += f'#define {rest[0]}\n'
    elif word == 'source':
        profile.source += f'#include <{rest[0]}>\n'
    elif word == 'status':
        profile.status, profile.success, profile.errors = rest[0], rest[1], {}
    elif word == 'error':
        profile.errors[rest[0]] = rest[1]
    elif word == 'answers':
        profile.answers += rest
    elif word == 'types':
        profile.types = (int(rest[0]), int(rest[1]))
    elif word == 'functions':
        profile.functions = int(rest[0])
    elif word in ('package', 'header'):
        setattr(profile, word, rest)
    elif word == 'included':
        profile.included.append(rest)
    elif word in ('title', 'loaded', 'open', 'include', 'version'):
        setattr(profile, word, rest[0])
    elif word in ('older', 'oldest'):
        profile.olders.append(Older(word, rest[0], rest[1:]))
    elif word in ('newer', 'gone', 'unlike', 'unexported'):
        getattr(profile.olders[-1], word).extend(rest)
    elif word in ('export', 'beside'):
        getattr(profile, word + 's').extend(rest)
    elif word == 'later':
        profile.exports.extend(rest)
    elif word == 'part':
        profile.parts.update((header, rest[0]) for header in rest[1:])
    elif word == 'node':
        profile.nodes.update((name, rest[0]) for name in rest[1:])
    elif word == 'kind':
        profile.kinds[rest[0]] = rest[1]
    elif word in ('bare', 'unversioned'):
        setattr(profile, word, True)
    else:
        return False
    return True


def _lines(path):
    with open(path, encoding='utf-8') as f:
        return [words for words in (line.split('#')[0].split() for line in f) if words]


def _forwarded(path):
    profile = Profile()
    for words in _lines(path):
        head_line(profile, words)
    stem = os.path.basename(path)[:-len('.api')]
    if profile.name != stem or not (profile.title and profile.functions and profile.driver is False):
        raise SystemExit(f'{path}: the head needs the lines library {stem}, title and functions')
    return profile


def _refused(path):
    profile = Profile(refused=True)
    for words in _lines(path):
        if words[0] == 'library':
            profile.name, profile.soname, profile.unversioned = words[1], words[2], words[3:] == ['unversioned']
        elif words[0] == 'title':
            profile.title = words[1]
        elif words[0] in ('package', 'header'):
            setattr(profile, words[0], words[1:])
        elif words[0] in ('older', 'oldest'):
            profile.olders.append(Older(words[0], words[1]))
    if not profile.title:
        raise SystemExit(f'{path}: the head needs a line title')
    return profile


def _check(libraries):
    """Checks that numbers and handle types belong to one library each."""
    taken = {}
    for p in libraries:
        if not 0 < p.number < MOST or p.types[0] + p.types[1] > TYPES:
            raise SystemExit(f'{p.name}.api: numbers end at {MOST - 1}, types at {TYPES}')
        for what in [('number', p.number)] + [('type', p.types[0] + i) for i in range(p.types[1])]:
            if what in taken:
                raise SystemExit(f'{p.name}.api: {what[0]} {what[1]} is that of {taken[what]}.api')
            taken[what] = p.name


def forwarded(folder=HERE):
    """Returns the libraries that the worker serves, by number."""
    paths = [p for p in glob.glob(os.path.join(folder, '*.api')) if os.path.basename(p) != 'cuda.api']
    libraries = sorted(map(_forwarded, paths), key=lambda p: p.number)
    _check(libraries)
    return libraries


def refused(folder=HERE):
    """Returns the libraries to which no worker belongs."""
    return [_refused(p) for p in sorted(glob.glob(os.path.join(folder, '*.refused')))]


# --- Products --------------------------------------------------------------------------

BANNER = 'Generated by cuda-api/heads.py from the heads of *.api. Do not edit.'


def header(libraries):
    text = f'/* {BANNER} */\n#ifndef GEN_LIBRARIES_H\n#define GEN_LIBRARIES_H\n\n'
    text += '/* Libraries over the driver; numbers are never reused. */\n'
    text += ''.join(f'#define WH_LIB_{p.name}\t{p.number}\n' for p in libraries)
    text += f'#define WH_LIBS\t{libraries[-1].number + 1}\n\n'
    text += '/* X(NAME, VARIABLE) for each: $WORMHOLE_VARIABLE is ours, $VARIABLE_... are NVIDIA\'s. */\n'
    text += '#define WH_EACH_LIBRARY(X)'
    text += ''.join(f' \\\n\tX({p.name}, "{p.variable}")' for p in libraries)
    return text + '\n\n#endif\n'


def server_header(libraries):
    text = f'/* {BANNER} */\n#ifndef GEN_LIBRARIES_SERVER_H\n#define GEN_LIBRARIES_SERVER_H\n\n'
    text += ''.join(f'#include "gen_{p.name}_server.h"\n' for p in libraries)
    return text + '\n#endif\n'


def wire_files(p):
    """Returns the handwritten header of a library's messages, if it has one, those that it includes, and ours of
    functions that are gone."""
    name = f'wire_{p.name}.h'
    more = re.findall(r'^#include "(wire_\w+\.h)"', wire_text(name), re.M)
    gone = [g for g in re.findall(r'<(gone_\w+\.h)>', p.source) if os.path.exists(os.path.join(HERE, g))]
    return ([name] + more if os.path.exists(os.path.join(HERE, name)) else []) + gone


def makefile(libraries, refuse):
    text = f'# {BANNER}\nLIBRARIES := {" ".join(p.name for p in libraries)}\n'
    text += f'REFUSED := {" ".join(p.name for p in refuse)}\n'
    for p in libraries + refuse:
        text += f'SONAME_{p.name} := {p.soname}\n'
        text += ''.join(f'{o.word.upper()}_{p.name} := {o.soname}\n' for o in p.olders)
        text += f'PARTS_{p.name} := {" ".join(p.part_sonames)}\n' if p.parts else ''
        text += ''.join(f'NEEDED_{p.name} := {" ".join(o.besides)}\n' for o in p.olders if o.word == 'oldest')
    for p in libraries:
        text += f'WIRE_{p.name} := {" ".join(wire_files(p))}\n'
    return text


def table(libraries):
    """Puts blanks between columns."""
    text = '# name variable soname functions sonames-of-older-majors\n'
    for p in libraries:
        text += ' '.join([p.name, p.variable, p.soname, str(p.functions)] + [o.soname for o in p.olders]) + '\n'
    return text


def main(argv):
    if len(argv) != 2:
        raise SystemExit(__doc__)
    libraries = forwarded()
    if argv[1] == '--headers':
        for p in libraries + refused():
            if p.package:
                print(*p.package, *p.header)
            for more in p.included:
                print(*more)
        return
    for name, text in (('gen_libraries.h', header(libraries)), ('gen_libraries_server.h', server_header(libraries)),
                       ('gen_libraries.list', table(libraries)),
                       ('gen_libraries.mk', makefile(libraries, refused()))):
        write(os.path.join(argv[1], name), text)


if __name__ == '__main__':
    main(sys.argv)
