# SPDX-License-Identifier: Apache-2.0
"""Code that the generators of the driver API and of libraries share: product files, call numbers (ids*.lock), and the
structs of messages."""

import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
# A parameter of these kinds is sent as a struct of the client's state.
STATES = ('object', 'whole')


def write(path, text):
    """Writes a file. Unchanged output keeps its timestamp, so that nothing is rebuilt for it."""
    try:
        with open(path, encoding='utf-8') as f:
            if f.read() == text:
                return
    except FileNotFoundError:
        pass
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    # Two folders may generate at the same time, so each replaces whole files.
    new = f'{path}.{os.getpid()}'
    with open(new, 'w', encoding='utf-8') as f:
        f.write(text)
    os.replace(new, path)


def wire_text(name):
    """Returns a handwritten header of messages with those that it includes; '' if there is none."""
    path = os.path.join(HERE, name)
    if not os.path.exists(path):
        return ''
    with open(path, encoding='utf-8') as f:
        text = f.read()
    return text + ''.join(wire_text(x) for x in re.findall(r'^#include "(wire_\w+\.h)"', text, re.M))


def read_table(name, hows):
    """Returns {name: (how, detail)} of a file with a line NAME HOW [DETAIL] for each function, in its order, which must
    be sorted."""
    table = {}
    with open(os.path.join(HERE, name), encoding='utf-8') as f:
        for line in f:
            if line.startswith('#') or not line.strip():
                continue
            function, how, *detail = line.split(None, 2)
            if how not in hows or function in table:
                raise SystemExit(f'{name}: bad or repeated line for {function}')
            table[function] = (how, detail[0].strip() if detail else '')
    if list(table) != sorted(table):
        raise SystemExit(f'{name}: the names are not sorted')
    return table


def fnv64(text):
    h = 0xcbf29ce484222325
    for b in text.encode():
        h = ((h ^ b) * 0x100000001b3) & 0xffffffffffffffff
    return h


# --- Numbers -------------------------------------------------------------------

def lock_of(d):
    return os.path.join(HERE, 'ids.lock' if d.profile.driver else f'ids-{d.profile.name}.lock')


def read_lock(path):
    ids = {}
    with open(path, encoding='utf-8') as f:
        for line in f:
            words = line.split('#')[0].split()
            if words:
                ids[words[1]] = int(words[0])
    return ids


def append_ids(d, api):
    path = lock_of(d)
    ids = read_lock(path) if os.path.exists(path) else {}
    new = [n for n, c in api.calls.items() if c.numbered and not c.suffix and n not in ids]
    nxt = max(ids.values(), default=0) + 1
    new.sort(key=lambda n: (not n.startswith('wh'), n))
    with open(path, 'a', encoding='utf-8') as f:
        if not ids:
            f.write('# SPDX-License-Identifier: Apache-2.0\n'
                    '# Call numbers. Append only (gen_stubs.py --ids); a number is never reused:\n'
                    '# a call that is gone keeps its line, with "# retired".\n')
        for i, name in enumerate(new):
            f.write(f'{nxt + i} {name}\n')


def number(d, api):
    path = lock_of(d)
    ids = read_lock(path)
    for name, call in api.calls.items():
        if call.numbered and not call.suffix:
            if name not in ids:
                raise SystemExit(f'gen_stubs.py: {name} has no number; run `make -C cuda-api ids` and commit '
                                 f'{os.path.basename(path)}')
            call.number = ids[name]
    return max(ids.values()) + 1


def in_order(api):
    return sorted((c for c in api.calls.values() if c.forwarded and not c.suffix), key=lambda c: c.number)


# --- Text --------------------------------------------------------------------------

def wrap(text, width=96):
    """Breaks long lines behind a comma, or before a call inside a call."""
    out = []
    for line in text.split('\n'):
        indent = line[:len(line) - len(line.lstrip('\t'))] + '\t\t'
        while len(line.expandtabs(8)) > width:
            cut = max((m.end() for m in re.finditer(r', |\((?=\w+\()', line)
                       if len(line[:m.end()].expandtabs(8)) <= width), default=0)
            if cut <= len(indent):
                break
            out.append(line[:cut].rstrip())
            line = indent + line[cut:]
        out.append(line)
    return '\n'.join(out)


def proto(func, name=None):
    """Returns the prototype, with one parameter a line if one line is too long."""
    text = func.prototype(name)
    if len(text) <= 96:
        return text
    args = ',\n\t\t'.join(p.declare() for p in func.params)
    return f'{func.result.spelling} {name or func.name}({args})'


def lead(lines):
    return ''.join('\t' + line + '\n' for line in lines)


# --- Message structs --------------------------------------------------------------

def wire_type(d, ctype):
    """Returns the type of one object in a message: handles are 64-bit numbers there."""
    if d.handle_name(ctype):
        return 'uint64_t'
    return 'uint8_t' if ctype.kind == 'void' else ctype.bare


def operand_type(a):
    """Returns the host side's form of a host-or-device operand: (type, array part)."""
    if a.object.kind == 'void':
        room = a.count.split(':')[0] if ':' in a.count else 16
        return 'uint8_t', f'[{room}] __attribute__((aligned(16)))'
    return a.object.bare, f'[{a.count}]' if a.count else ''


def req_fields(d, call):
    out = []
    for a in call.args:
        if a.mode and a.kind == 'out':
            out.append(('uint64_t', a.name))
        elif a.mode:
            t, n = operand_type(a)
            out.append((f'union {{ {t} host{n}; uint64_t device; }}', a.name))
        elif a.kind in STATES:
            out.append((f'struct wh_obj_{a.type.bare}', a.name))
        elif a.kind == 'scalar':
            out.append((a.type.bare, a.name))
        elif a.kind in ('handle', 'value', 'opaque', 'addr', 'host'):  # addrout: only in the response
            out.append(('uint64_t', a.name))
        elif a.kind == 'str':
            out.append(('uint64_t', a.name + '_size'))
        elif a.kind == 'given':
            out.append((d.profile.kinds[a.given], a.name))
        elif a.kind in ('in', 'inout') and not a.array:
            out.append((wire_type(d, a.object), a.name))
        elif a.count.startswith('?') and not a.mode:
            out.append(('uint64_t', a.name + '_count'))
    return out


def rsp_fields(d, call):
    out = []
    for a in call.args:
        if a.mode and a.kind != 'in':
            t, n = operand_type(a)
            out.append((t, a.name + n))
        elif a.kind in ('out', 'inout') and not a.array and not a.mode:
            out.append((wire_type(d, a.object), a.name))
        elif a.kind == 'cstr':
            out.append(('uint64_t', a.name + '_size'))
        elif a.kind in ('addrout', 'fresh'):
            out.append(('uint64_t', a.name))
    return out


def struct(kind, name, fields):
    body = ''.join(f'\t{t}{"" if t.endswith("*") else " "}{n};\n' for t, n in fields)
    return f'struct wh_{kind}_{name} {{\n\tstruct wh_{kind} hdr;\n{body}}};\n'


def size_checks(d, calls):
    types = {}
    for c in calls:
        for a in c.args:
            t = a.object if a.kind in ('in', 'out', 'inout') else a.type
            if a.kind in STATES:
                continue
            if t.kind in ('record', 'union', 'enum', 'int') and t.size and not d.handle_name(t):
                types[t.bare] = t.size
    return ''.join(f'_Static_assert(sizeof({t}) == {s}, "{t}");\n' for t, s in sorted(types.items()))


# --- Handles in structs ----------------------------------------------------------------------------

def bad_handle(d, ctype):
    return 'CUDA_ERROR_INVALID_CONTEXT' if ctype.bare == 'CUcontext' else d.profile.errors['handle']


def fields_in(d, rec, expr):
    out = []
    for path, t in d.record_handles(rec):
        out += [f'if (!wh_get(s, WH_H_{t.bare}, (uint64_t){expr}.{path}, (void **)&{expr}.{path}))',
                f'\treturn {bad_handle(d, t)};']
    return out


# --- Addresses: what the worker checks before it calls (server/session/reach.h) -----------------

def reach_check(d, address, size, given=''):
    """Returns statements that refuse an address which the client may not name. The library judges NULL."""
    if d.profile.driver:
        return [f'res = wh_reach(s, {address}, {size});', 'if (res != CUDA_SUCCESS)', '\treturn res;']
    return [f'if ({given}{address} && wh_reach(s, {address}, {size}) != CUDA_SUCCESS)',
            f"\treturn {d.profile.errors['value']};"]


def operand_pack(a, bit):
    """Packs an operand in host or device memory: the value, or the address."""
    n = a.name
    if a.kind == 'out':
        device = [f'\tq->{n} = (uintptr_t){n};']
        return [f'if (!{n})', f'\tq->hdr.null |= {bit};', 'else if (device_mode)'] + device
    size = f'{n}_size' if a.object.kind == 'void' else f'sizeof(q->{n}.host)'
    host = f'q->{n}.host = *{n};' if a.object.kind != 'void' and not a.count else \
        f'memcpy(q->{n}.host, {n}, {size});'
    return [f'if (!{n})', f'\tq->hdr.null |= {bit};', 'else if (device_mode)',
            f'\tq->{n}.device = (uintptr_t){n};', 'else', '\t' + host]


def operand_reach(d, a):
    """Does the same for an operand that is in device memory now."""
    address = f'q->{a.name}' if a.kind == 'out' else f'q->{a.name}.device'
    size = '1' if a.object.kind == 'void' else f'sizeof({a.object.bare})' + (f' * {a.count}' if a.count else '')
    return reach_check(d, address, size, f'device_mode && !(q->hdr.null & 1u << {a.index}) && ')


def checked_in(d, a, first, count):
    """Checks structs that have addresses inside, by the worker's own code."""
    return [f'res = wh_reach_{a.object.bare}(s, {first}, {count});', f'if (res != {d.profile.success})',
            '\treturn res;']


# --- Of libraries ---------------------------------------------------------------------------------

def library_post(d, call, lib):
    """Posts a library's call. The status depends neither on addresses nor on padding, which was cleared."""
    places = [a.name for a in call.args if a.kind == 'addr' or a.mode]
    places += [f'{a.name}.{x}' for a in call.args if a.kind == 'object' for x in d.profile.moves[a.type.bare]]
    words = [f'wh_word(struct wh_req_{call.name}, {x})' for x in places]
    words = ' |\n\t\t\t\t'.join(words) or '0'
    return f'\tres = wh_{lib}post(&c, sizeof(*q),\n\t\t\t\t{words});\n'


def library_ask(call, lib):
    """Asks a question whose answer depends on its request alone. Padding was cleared, as for a post."""
    for a in call.args:
        if a.kind not in ('scalar', 'handle', 'object') and not (a.kind == 'out' and not a.array and not a.mode):
            raise SystemExit(f'{call.name}: +same, but the answer may depend on what {a.name} leads to')
    return f'\tres = wh_{lib}ask(&c, sizeof(*q), sizeof(struct wh_rsp_{call.name}));\n'


def library_launch():
    """Comes before a library's call that launches. A result other than success is a wait, which dispatch
    knows (charge.h)."""
    return ['limit = wh_launch_begin(s, stream);', 'if (limit != CUDA_SUCCESS)', '\treturn limit;']


def request_checks(d, call, local):
    """Makes the checks of +given (which pointers may be NULL) and +checked (functions that examine the request)."""
    out = []
    if 'given' in call.hooks:
        free = sum(1 << a.index for a in call.args if a.name in call.hooks['given'])
        out += [f'if (q->hdr.null & ~{free:#x}u)', f"\treturn {d.profile.errors['value']};"]
    own = {a.name: local(a) if a.array or a.kind in ('handle', 'object') else f'q->{a.name}' for a in call.args}
    own['NAME'] = f'"{call.name}"'
    for check in call.hooks.get('checked', []):
        text = re.sub(r'(?<!->)\b[A-Za-z_]\w*', lambda m: own.get(m.group(0), m.group(0)), check)
        out += [f'res = {text.replace(",", ", ")};', f'if (res != {d.profile.success})', '\treturn res;']
    return out
