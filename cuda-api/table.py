# SPDX-License-Identifier: Apache-2.0
"""Both ends of a library with thousands of functions of few shapes (lines `part` of its description): tables, and
no body for each function.

A function's *shape* says where the x86-64 calling convention puts each address and the stream, and what each address
is. The client sends the registers and the stack as they are, and the worker replaces what the shape names and calls
with them. So a description only says what a parameter of a name is:

  param NAME device    an address of device memory; of an array of addresses: each
  param NAME in|out    an object or a fixed array in host memory, of the type that the prototype says
  FUNCTION NAME=...    the same for functions of a name or a pattern

A fixed array of constants is `in`. A function with any other address is refused.
"""

import describe
import gen_common

# As in wire_table.h.
DEVICE, DEVICES, IN, OUT, STREAM = range(5)
KINDS = ('WH_TABLE_DEVICE', 'WH_TABLE_DEVICES', 'WH_TABLE_IN', 'WH_TABLE_OUT', 'WH_TABLE_STREAM')
INTEGERS, FLOATS, WORDS = 6, 8, 40
CONTEXT = 'NppStreamContext'


class Refused(Exception):
    """A reason for which a function is not served."""


def _floats(ctype, at=0):
    """Yields (offset, is it a float) of each number in a type."""
    if ctype.kind == 'record':
        for f in ctype.fields:
            yield from _floats(f.type, at + f.offset)
    elif ctype.kind == 'array':
        for i in range(ctype.count):
            yield from _floats(ctype.pointee, at + i * ctype.pointee.size)
    else:
        yield at, ctype.kind == 'float'


def _classes(ctype):
    """Returns the class of each eight bytes of a value; [] if it is in memory."""
    if ctype.kind in ('record', 'union') and (ctype.kind == 'union' or ctype.size > 16):
        return []
    if ctype.kind not in ('record', 'array'):
        return ['float' if ctype.kind == 'float' else 'int']
    words = [[] for _ in range((ctype.size + 7) // 8)]
    for at, is_float in _floats(ctype):
        words[at // 8].append(is_float)
    return ['float' if all(w) else 'int' for w in words]


class Places:
    """Where the calling convention puts parameters."""

    def __init__(self):
        self.integers = self.floats = self.words = 0

    def take(self, ctype):
        """Returns the first word of a parameter: below INTEGERS a register, else INTEGERS + a word of the stack; -1: a
        register of floats."""
        if ctype.kind in ('pointer', 'array', 'handle'):
            classes = ['int']
        else:
            classes = _classes(ctype)
        ints, floats = classes.count('int'), classes.count('float')
        if classes and self.integers + ints <= INTEGERS and self.floats + floats <= FLOATS:
            first = self.integers if ints else -1
            self.integers += ints
            self.floats += floats
            return first
        first = INTEGERS + self.words
        self.words += max(1, (ctype.size + 7) // 8) if ctype.kind not in ('pointer', 'array', 'handle') else 1
        return first


def _element(ctype):
    while ctype.kind == 'array':
        ctype = ctype.pointee
    return ctype


def _kind(d, entry, p):
    """Returns (kind, bytes) of an address."""
    text = entry['kinds'].get(p.name) or d.lists['param'].get(p.name)
    fixed = p.type.kind == 'array'
    if not text and fixed and p.type.spelling.startswith('const ') and not _element(p.type).has_pointer(True):
        text = 'in'
    if text == 'device' and fixed and _element(p.type).kind == 'pointer':
        return DEVICES, p.type.size
    if text == 'device':
        return DEVICE, 0
    of = p.type if fixed else p.type.pointee
    if text in ('in', 'out') and 0 < of.size < 65536 and not _element(of).has_pointer(True):
        return (IN if text == 'in' else OUT), of.size
    raise Refused(f'nothing says what {p.name} is')


def shape(d, func, entry):
    """Returns (words of the stack, ((kind, place, bytes), ...)) of a function, or raises Refused."""
    places, args = Places(), []
    for p in func.params:
        at = places.take(p.type)
        if p.type.bare == CONTEXT:
            if at < INTEGERS:
                raise SystemExit(f'table.py: {func.name}: {CONTEXT} is not in memory')
            args.append((STREAM, at, 0))
        elif p.type.kind in ('pointer', 'array'):
            args.append((*_kind(d, entry, p)[:1], at, _kind(d, entry, p)[1]))
        elif p.type.has_pointer(handles=True):
            raise Refused(f'{p.name} holds an address')
    if func.result.bare != d.profile.status or func.variadic:
        raise Refused('its result is no status')
    if places.words > WORDS:
        raise Refused(f'its parameters take more than {WORDS} words of the stack')
    return places.words, tuple(args)


def api(d):
    """Returns the calls of such a library."""
    calls = {}
    for name, func in d.header.functions.items():
        entry = d._entry(name)
        call = describe.Call(name, func, entry['verb'], entry['reason'])
        calls[name] = call
        if call.verb != 'generated':
            continue
        # Today's library has only the form with a context of the program's.
        if name + '_Ctx' in d.header.functions:
            call.verb = 'absent'
            continue
        try:
            call.shape = shape(d, func, entry)
            call.verb = 'table'
        except Refused as e:
            call.verb, call.reason = 'refuse', str(e)
    for name, entry in d.exact.items():
        if name.startswith('wh'):
            calls[name] = describe.Call(name, None, entry['verb'], entry['reason'])
        elif name not in calls:
            raise SystemExit(f'{d.path}: the header has no {name}')
    missing = {f.file for f in d.header.functions.values()} - set(d.profile.parts)
    if missing:
        raise SystemExit(f'{d.path}: no "part" line has {" ".join(sorted(missing))}')
    return describe.Api(calls, [], [], [], d.header)


def part_of(d, call):
    return d.profile.parts[call.func.file]


def exported(d, api, soname):
    return sorted(n for n, c in api.calls.items() if c.func and c.verb != 'absent' and part_of(d, c) == soname)


def _in_order(api):
    return sorted((c for c in api.calls.values() if c.verb == 'table'), key=lambda c: c.number)


def _by_hand(api):
    return sorted((c for c in api.calls.values() if c.verb == 'manual'), key=lambda c: c.number)


def _refused(api):
    return sorted(n for n, c in api.calls.items() if c.verb == 'refuse')


def _banner(d):
    return f'/* Generated by cuda-api/table.py from cuda-api/{d.profile.name}.api. Do not edit. */\n'


def shapes(api):
    """Returns all shapes, in the order of first use."""
    return list(dict.fromkeys(c.shape for c in _in_order(api)))


# --- Both ends -----------------------------------------------------------------------

def gen_shapes(d, api, top):
    """Returns the table of shapes, which one file of each end includes."""
    all_shapes, args, first = shapes(api), [], []
    for words, each in all_shapes:
        first.append((len(args), len(each), words))
        args += each
    n = d.profile.name
    text = _banner(d) + f'static const struct wh_table_arg wh_{n}_args[] = {{\n'
    text += ''.join(f'\t{{ {KINDS[k]}, {at}, {size} }},\n' for k, at, size in args) + '\t{ 0, 0, 0 }\n};\n\n'
    text += f'static const struct wh_table_shape wh_{n}_shapes[] = {{\n'
    text += ''.join(f'\t{{ {a}, {b}, {c} }},\n' for a, b, c in first) + '};\n\n'
    text += f'/* The shape of each call, by number. */\nstatic const uint16_t wh_{n}_shape[{top}] = {{\n'
    text += ''.join(f'\t[{c.number}] = {all_shapes.index(c.shape)},\n' for c in _in_order(api))
    return text + '};\n'


def gen_wire(d, api, top):
    pro = d.profile
    sig = gen_common.wire_text(f'wire_{pro.name}.h')
    sig += ''.join(f'{c.number} {c.name} {c.shape}\n' for c in _in_order(api))
    name, upper = pro.name, pro.name.upper()
    return (f'{_banner(d)}#ifndef GEN_{upper}_WIRE_H\n#define GEN_{upper}_WIRE_H\n\n#include "wire_{name}.h"\n\n'
            f'#define WH_{upper}_CALLS {top}\n/* A hash of numbers and shapes: both ends must agree. */\n'
            f'#define WH_{upper}_HASH {gen_common.fnv64(sig):#018x}ULL\n\n'
            f'_Static_assert(WH_LIB_{name} == {pro.number}, "number");\n_Static_assert(WH_TABLE_WORDS == {WORDS}, "words");\n'
            f'_Static_assert(sizeof({CONTEXT}) == 48, "{CONTEXT}");\n'
            + ''.join(f'#define WH_CALL_{c.name} {pro.number << 16 | c.number:#x}\n' for c in _by_hand(api)) +
            f'enum {{ WH_H_{name}_END = {pro.types[0]} }};\n\n#endif\n')


# --- Client --------------------------------------------------------------------------

def gen_client(d, api):
    pro = d.profile
    text = _banner(d) + f'#include "{pro.name}_stub.h"\n\n'
    text += (f'struct wh_library wh_{pro.name}_library = {{\n\t.name = "{pro.name}",\n\t.soname = wh_soname,\n'
             f'\t.number = WH_LIB_{pro.name},\n\t.hash = WH_{pro.name.upper()}_HASH,\n}};\n\n'
             f'WH_IN_CHILD(wh_{pro.name}_library.state = 0)\n\n')
    text += f'/* By the numbers of gen_{pro.name}_*.S. */\nconst char *const wh_{pro.name}_refused_names[] = {{\n'
    return text + ''.join(f'\t"{n}",\n' for n in _refused(api)) + '\tNULL\n};\n'


STUB = '''	.globl {0}
	.type {0}, @function
	.balign 16
{0}:
	endbr64
	movl ${1}, {2}
	jmp {3}
	.size {0}, . - {0}

'''


def gen_stubs(d, api, soname):
    """Returns the functions of one part: each names itself by a number."""
    n, refused = d.profile.name, {name: i for i, name in enumerate(_refused(api))}
    text = _banner(d) + '\t.text\n'
    for name in exported(d, api, soname):
        call = api.calls[name]
        if call.verb == 'table':
            text += STUB.format(name, call.number, '%eax', f'wh_{n}_entry')
        elif call.verb == 'refuse':
            text += STUB.format(name, refused[name], '%edi', f'wh_{n}_refused')
    return text + '\t.section .note.GNU-stack, "", @progbits\n'


def gen_map(d, api, soname):
    names = ''.join(f'\t{n};\n' for n in exported(d, api, soname))
    return (f'# Generated by cuda-api/table.py from cuda-api/{d.profile.name}.api. Do not edit.\n'
            f'{soname} {{\nglobal:\n{names}local:\n\t*;\n}};\n')


# --- Worker ----------------------------------------------------------------------------

def gen_server_h(d, api):
    n, upper = d.profile.name, d.profile.name.upper()
    first = d.lists['worker'][0]
    proto = api.calls[first].func
    return (f'{_banner(d)}#ifndef GEN_{upper}_SERVER_H\n#define GEN_{upper}_SERVER_H\n\n#include "session/library.h"\n'
            f'#include "gen_{n}_wire.h"\n\n/* What is found is kept: a function is looked up at its first call. */\n'
            f'struct wh_{n}_functions {{\n\t{proto.result.spelling} (*{first})(void);\n'
            f'\tvoid *part[{len(d.profile.part_sonames) + 1}];\n\tvoid *call[WH_{upper}_CALLS];\n'
            f'\tuint8_t looked[WH_{upper}_CALLS];\n}};\n\n'
            '/* A call by its number: its name, and its part by `parts`. */\n'
            f'struct wh_{n}_name {{\n\tconst char *name;\n\tuint8_t part;\n}};\n'
            f'extern const struct wh_{n}_name wh_{n}_names[WH_{upper}_CALLS];\n'
            f'extern const char *const wh_{n}_parts[];\n\n'
            f'int32_t wh_do_{n}(struct wh_session *s, struct wh_frame *f);\n' +
            ''.join(f'int32_t wh_do_{c.name}(struct wh_session *s, struct wh_frame *f);\n' for c in _by_hand(api)) +
            '\n#endif\n')


def gen_server(d, api):
    pro, n, upper = d.profile, d.profile.name, d.profile.name.upper()
    sonames = [pro.soname, *pro.part_sonames]
    text = _banner(d) + f'#include "gen_{n}_server.h"\n\nconst char *const wh_{n}_parts[] = {{\n'
    text += ''.join(f'\t"{x}",\n' for x in sonames) + '\tNULL\n};\n\n'
    text += f'const struct wh_{n}_name wh_{n}_names[WH_{upper}_CALLS] = {{\n'
    text += ''.join(f'\t[{c.number}] = {{ "{c.name}", {sonames.index(part_of(d, c))} }},\n' for c in _in_order(api))
    text += f'}};\n\nstatic const struct wh_library_entry calls[WH_{upper}_CALLS] = {{\n'
    text += ''.join(f'\t[{c.number}] = {{ wh_do_{n}, sizeof(struct wh_req_table), false }},\n' for c in _in_order(api))
    text += ''.join(f'\t[{c.number}] = {{ wh_do_{c.name}, sizeof(struct wh_req), false }},\n' for c in _by_hand(api))
    first = d.lists['worker'][0]
    text += (f'}};\n\nstatic const struct wh_library_symbol symbols[] = {{\n'
             f'\t{{ "{first}", offsetof(struct wh_{n}_functions, {first}) }},\n\t{{ NULL, 0 }}\n}};\n\n')
    besides = f'"{" ".join(pro.besides)}"' if pro.besides else 'NULL'
    return text + (f'const struct wh_library wh_library_{n} = {{\n\t.name = "{n}",\n\t.soname = "{pro.soname}",\n'
                   f'\t.hash = WH_{upper}_HASH,\n\t.table_size = sizeof(struct wh_{n}_functions),\n'
                   f'\t.symbols = symbols,\n\t.calls = calls,\n\t.ncalls = WH_{upper}_CALLS,\n'
                   f'\t.edition[0] = {{ "{pro.soname}", {besides} }},\n}};\n')


def products(d, api, top):
    """Returns {file: text} of what is generated, without the coverage table."""
    n = d.profile.name
    out = {f'gen_{n}_shapes.h': gen_shapes(d, api, top), f'gen_{n}_wire.h': gen_wire(d, api, top),
           f'gen_{n}_client.c': gen_client(d, api), f'gen_{n}_server.h': gen_server_h(d, api),
           f'gen_{n}_server.c': gen_server(d, api)}
    for soname in [d.profile.soname, *d.profile.part_sonames]:
        stem = soname.split('.')[0]
        out[f'gen_{stem}.S'] = gen_stubs(d, api, soname)
        out[f'gen_{stem}.map'] = gen_map(d, api, soname)
    out[f'gen_lib{n}.map'] = gen_map(d, api, d.profile.soname)
    return out
