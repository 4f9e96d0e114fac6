# SPDX-License-Identifier: Apache-2.0
"""What libcudart.so.12 has, from runtime_12.txt and the names of the runtimes before 13.

It is linked from the objects of libcudart.so.13. A function that 12 has in another shape is
called of_12_NAME in the source; symbol_names() says how the linker's names become 12's.
"""

from gen_common import read_table

NEWEST = '12.9'         # the version whose exports the library has
HOW = ('hand', 'was', 'same', 'refused')


def die(text):
    raise SystemExit('runtime_12.txt: ' + text)


def read_differences():
    """Returns {name: (how, detail)}."""
    return read_table('runtime_12.txt', HOW)


def calls(calls_13, names):
    """Returns {exported name: (how, detail)} of the whole library. `names` are those of the older runtimes."""
    differ = read_differences()
    exports = sorted(n for n, (_, last) in names.items() if last == NEWEST)
    for name in sorted(set(differ) - set(exports)):
        die(f'{name} is not in CUDA {NEWEST}')
    out = {}
    for name in exports:
        how, detail = differ.get(name, ('same', ''))
        in_13 = detail if how == 'was' else name
        if how in ('was', 'same') and in_13 not in calls_13:
            die(f'{name} is missing: 13 has no {in_13}')
        out[name] = calls_13[in_13] if how in ('was', 'same') else (how, detail)
    return out


def symbol_names(calls_13):
    """Returns {name in the objects: name in the library}."""
    differ = read_differences()
    own = [n for n, (how, _) in differ.items() if how in ('hand', 'refused')]
    to = {'of_12_' + n: n for n in own}
    to.update({detail: n for n, (how, detail) in differ.items() if how == 'was'})
    # What 12 has in its own shape may call 13's, which is not exported then.
    to.update({n: 'of_13_' + n for n in own if n in calls_13 and n not in to})
    return to


def refusals():
    """Returns the text of the functions that are refused in 12's shape: they look at no argument."""
    out = []
    for name, (how, _) in read_differences().items():
        if how == 'refused':
            out.append(f'cudaError_t of_12_{name}(void);\n\ncudaError_t of_12_{name}(void)\n{{\n'
                       f'\tstatic atomic_flag said = ATOMIC_FLAG_INIT;\n\n\treturn rt_refuse("{name}", &said);\n}}\n')
    return '\n'.join(out)
