# SPDX-License-Identifier: Apache-2.0
"""What the runtimes of older majors have: from runtime_12.txt, runtime_11.txt and the names of the runtimes before 13.

Each is linked from the objects of libcudart.so.13, and libcudart.so.11.0 from those of 12 as well. A function that a
major has in another shape is called of_12_NAME or of_11_NAME in the source; symbol_names() says how the linker's names
become those of the library.
"""

from gen_common import read_table

MAJORS = (12, 11)       # each has what the one before it has, and its own table of differences
NEWEST = {12: '12.9', 11: '11.8'}       # the version whose exports the library has
NODE = {13: 'libcudart.so.13', 12: 'libcudart.so.12', 11: 'libcudart.so.11.0'}
HOW = ('hand', 'was', 'same', 'refused')
OWN = ('hand', 'refused')


def die(major, text):
    raise SystemExit(f'runtime_{major}.txt: {text}')


def read_differences(major):
    """Returns {name: (how, detail, the major whose shape it is)} of what differs from 13."""
    out = {}
    for m in MAJORS[:MAJORS.index(major) + 1]:
        out.update((name, (*line, m)) for name, line in read_table(f'runtime_{m}.txt', HOW).items())
    return out


def exports(major, names):
    """Returns the names that the library of that major has. `names` are those of the older runtimes."""
    return sorted(n for n, (first, last) in names.items()
                  if version(first) <= version(NEWEST[major]) <= version(last))


def version(text):
    return tuple(map(int, text.split('.')))


def calls(major, calls_13, names):
    """Returns {exported name: (how, detail)} of the whole library."""
    differ, out = read_differences(major), {}
    exported = exports(major, names)
    for name in sorted(set(read_table(f'runtime_{major}.txt', HOW)) - set(exported)):
        die(major, f'{name} is not in CUDA {NEWEST[major]}')
    for name in exported:
        how, detail, _ = differ.get(name, ('same', '', 13))
        in_13 = detail if how == 'was' else name
        if how in ('was', 'same') and in_13 not in calls_13:
            die(major, f'{name} is missing: 13 has no {in_13}')
        out[name] = calls_13[in_13] if how in ('was', 'same') else (how, detail)
    return out


def all_calls(calls_13, names):
    """Returns {major: {exported name: (how, detail)}} of all libraries, 13's first."""
    return {13: calls_13, **{major: calls(major, calls_13, names) for major in MAJORS}}


def symbol_names(major, calls_13):
    """Returns {name in the objects: name in the library}."""
    differ = read_differences(major)
    own = {n: shape for n, (how, _, shape) in differ.items() if how in OWN}
    to = {f'of_{shape}_{n}': n for n, shape in own.items()}
    to.update({detail: n for n, (how, detail, _) in differ.items() if how == 'was'})
    # What an older major has in its own shape may call 13's, which is not exported then.
    to.update({n: 'of_13_' + n for n in own if n in calls_13 and n not in to})
    return to


def refusals(major):
    """Returns the text of the functions that are refused in that major's shape: they look at no argument."""
    out = []
    for name, (how, _) in read_table(f'runtime_{major}.txt', HOW).items():
        if how == 'refused':
            own = f'of_{major}_{name}'
            out.append(f'cudaError_t {own}(void);\n\ncudaError_t {own}(void)\n{{\n'
                       f'\tstatic atomic_flag said = ATOMIC_FLAG_INIT;\n\n\treturn rt_refuse("{name}", &said);\n}}\n')
    return '\n'.join(out)
