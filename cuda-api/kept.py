# SPDX-License-Identifier: Apache-2.0
"""Code for descriptors that a library only reads (lines `kept`). Calls that make and set one are kept in the client, and
other calls get a descriptor of the worker that was made alike (client-stubs/kept.h)."""

MAKES, SETS, ENDS = 'makes', 'sets', 'ends'


def name_of(d, ctype):
    """Returns the name of the kept descriptors of a type, or None."""
    return d.listed('kept', ctype)


def kind_of(d, a):
    """Returns the kind of a parameter that is a kept descriptor, by its value or in a struct of the program,
    or None."""
    if a.kind in ('opaque', 'fresh'):
        return a.object.bare if a.object.bare in d.lists['kept'] else None
    return name_of(d, a.object if a.kind == 'out' and not a.array else a.type)


def says(d, kind, word):
    return word in d.profile.keeps.get(kind, [])


def descriptor(d, call):
    """Returns the descriptor that a call makes, sets or ends. A struct's own call makes it, else it is the last one."""
    found = [a for a in call.args if kind_of(d, a)]
    if any(a.kind in ('opaque', 'fresh') for a in found):
        return next((a for a in found if a.kind == 'fresh'), found[-1])
    return found[0] if found else None


def role(d, call):
    """Returns what a call does that is about one descriptor, else None."""
    a = descriptor(d, call) if d.lists['kept'] else None
    if a is None:
        return None
    if a.kind in ('out', 'fresh'):
        return MAKES
    if 'steps' in call.flags or 'steps' in call.hooks:
        return SETS
    return ENDS if call.drops else None


def makes_number(d, call):
    return role(d, call) == MAKES and descriptor(d, call).kind == 'out'


def parents(d, call):
    """Returns what a struct is made of, besides what every step needs."""
    own = descriptor(d, call)
    return [a for a in call.args if kind_of(d, a) and a is not own and not says(d, kind_of(d, a), 'own')] \
        if role(d, call) == MAKES else []


def check(d, call, where):
    """Checks that every call says what it does to descriptors that its prototype does not call const."""
    said = call.hooks.get('alters', []) + call.hooks.get('leaves', [])
    own = descriptor(d, call) if role(d, call) else None
    for name in said:
        if name not in [a.name for a in call.args if name_of(d, a.type)]:
            raise SystemExit(f'{where}: {call.name}: {name} is no descriptor that is kept')
    for a in call.args:
        kind = name_of(d, a.type)
        if a.kind in ('in', 'out', 'inout') and name_of(d, a.object) and (a is not own or a.array):
            raise SystemExit(f'{where}: {call.name}: {a.name} is an array of kept descriptors')
        if role(d, call) in (MAKES, SETS) and sum(x.kind == 'addr' for x in call.args) > 1:
            raise SystemExit(f'{where}: {call.name}: a kept descriptor has one address')
        if kind_of(d, a) and not says(d, kind_of(d, a), 'own') and a is not own and role(d, call) == SETS:
            raise SystemExit(f'{where}: {call.name}: what it sets depends on another descriptor, {a.name}')
        if says(d, kind, 'const') and not a.type.const and a is not own and a.name not in said:
            raise SystemExit(f'{where}: {call.name}: {a.name} is not const: +alters or +leaves says what it does')


def kinds(d, api):
    """Returns the kinds of a library, for its client."""
    text, pro = '', d.profile
    for name in d.lists['kept']:
        struct = name in d.lists['opaque']
        end = next((c for c in api.calls.values() if c.forwarded and role(d, c) == ENDS and
                    kind_of(d, descriptor(d, c)) == name), None)
        full = pro.errors['memory']
        fields = [f'.library = &wh_{pro.name}_library', f".full = {{ {full}, {pro.errors.get('full', full)} }}"]
        if end:
            fields += [f'.end = WH_CALL_{end.name}', f'.end_size = sizeof(struct wh_req_{end.name})',
                       f'.end_at = offsetof(struct wh_req_{end.name}, {descriptor(d, end).name})']
        if struct:
            fields += [f'.type = WH_H_{name}', '.by_context = true', '.weight = 1']
        fields += [f'.{x} = true' for x in ('own', 'now') if says(d, name, x)]
        fields += ['.follows = true'] if name in pro.follows else []
        text += f'const struct wh_kept_kind wh_kept_{name} = {{\n' + ''.join(f'\t{x},\n' for x in fields) + '};\n\n'
    return text


def declarations(d):
    if not d.lists['kept']:
        return ''
    pro = d.profile
    text = ''.join(f'extern const struct wh_kept_kind wh_kept_{name};\n' for name in d.lists['kept'])
    return text + (f'\nstatic inline {pro.status} wh_{pro.name}_kept(struct wh_outcome o)\n'
                   f'{{\n\treturn o.answered ? ({pro.status})o.res : wh_{pro.name}_lost(o.lost);\n}}\n\n')


def _read(d, call):
    """Returns the descriptors that a call reads or changes: in its request they are the worker's."""
    own, others = descriptor(d, call) if role(d, call) else None, parents(d, call)
    return [a for a in call.args if kind_of(d, a) and a is not own and a not in others]


def locals_of(d, call):
    """Returns locals with the numbers of the worker's descriptors, before the slot is taken."""
    out = []
    for a in _read(d, call):
        if a.kind == 'opaque':
            out.append(f'struct wh_kept_use {a.name}_use;')
        elif a.name in call.hooks.get('alters', []):
            out.append(f'const uint64_t {a.name}_id = wh_kept_own((uint64_t){a.name});')
        else:
            out.append(f'const uint64_t {a.name}_id = wh_kept_real(&wh_kept_{kind_of(d, a)}, (uint64_t){a.name});')
    return out


def struct(d, call, a):
    """Returns statements that find the number of a struct that a call reads."""
    pro = d.profile
    if a not in _read(d, call):
        return []
    return [f'res = wh_{pro.name}_kept(wh_kept_begin_use(&wh_kept_{kind_of(d, a)}, {a.name},',
            f"\t\t{pro.errors['handle']}, &{a.name}_use));", f'if (res != {pro.success})', '\treturn res;']


def done(d, call):
    """Comes after the request was sent, or cannot be. A descriptor of an `own` kind needs none, since it is
    never shared."""
    return [f'wh_kept_end_use(&{a.name}_use);' for a in _read(d, call)
            if a.kind == 'opaque' and not says(d, kind_of(d, a), 'own')]


def pack(d, call, a):
    if a in _read(d, call) and a.kind == 'opaque':
        return [f'q->{a.name} = {a.name}_use.real;']
    if a in _read(d, call):
        return [f'q->{a.name} = {a.name}_id;']
    return [f'q->{a.name} = (uint64_t){a.name};'] if a in parents(d, call) else []


def places(d, call, message):
    """Returns the offsets in the request or its response for what is kept."""
    a, others, keys = descriptor(d, call), parents(d, call), call.hooks.get('steps', [])
    req = f'struct wh_req_{call.name}'
    fields = [f'.at = offsetof(struct wh_{message}_{call.name}, {a.name})']
    fields += [f'.address = offsetof({req}, {x.name})' for x in call.args if x.kind == 'addr']
    fields += [f'.address = {x}(q->{keys[0]}) < 0 ? 0 : WH_WIRE_FIXED({req})' for x in keys[1:]]
    fields += [f'.key = offsetof({req}, {x})' for x in keys[:1]]
    if others:
        fields += [f'.parents = offsetof({req}, {others[0].name})',
                   '.parent = { ' + ', '.join(f'&wh_kept_{kind_of(d, x)}' for x in others) + ' }']
    return '(struct wh_kept_places) {\n' + ''.join(f'\t\t\t{x},\n' for x in fields) + '\t\t}'


def run(d, call):
    """Returns the statements that replace those which send the request."""
    a, pro = descriptor(d, call), d.profile
    lib, bad, kind = pro.name, pro.errors['handle'], f'&wh_kept_{kind_of(d, a)}'
    if role(d, call) == ENDS:
        return [f'res = wh_{lib}_kept(wh_kept_end({kind}, (uint64_t){a.name}, {bad}));']
    if role(d, call) == SETS:
        return [f'res = wh_{lib}_kept(wh_kept_set(&c, {kind}, (uint64_t){a.name},',
                f'\t\t{places(d, call, "req")}, {bad}));']
    number = makes_number(d, call)
    out = '&made' if number else a.name
    return [f'res = wh_{lib}_kept(wh_kept_make(&c, {kind},', f'\t\t{places(d, call, "rsp")}, {out}, {bad}));'] + \
        ([f'if (res == {pro.success})', f'\t*{a.name} = ({a.object.bare})made;'] if number else [])


def end(d, call, head):
    """Returns the whole function that ends a descriptor."""
    body = ''.join(f'\t{x}\n' for x in run(d, call))
    return f'{head}\n{{\n\t{d.profile.status} res;\n\n{body}\treturn res;\n}}\n\n'
