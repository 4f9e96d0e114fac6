# SPDX-License-Identifier: Apache-2.0
"""Code for descriptors that a library only reads (lines `kept`): what makes and sets one is kept
in the client, and other calls get one of the worker's that was made alike (client-stubs/kept.h)."""

MAKES, SETS, ENDS = 'makes', 'sets', 'ends'


def name_of(d, ctype):
    """The kind of kept descriptor that a type is, or None."""
    return d.listed('kept', ctype)


def descriptor(d, call):
    """The one that a call makes, sets or ends."""
    return d.first_listed('kept', call)


def role(d, call):
    """Of a call that is about one descriptor, else None."""
    a = descriptor(d, call) if d.lists['kept'] else None
    if a is None:
        return None
    if a.kind == 'out':
        return MAKES
    if 'steps' in call.flags:
        return SETS
    return ENDS if call.drops else None


def check(d, call, where):
    """Every call says what it does to descriptors that its prototype does not call const."""
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
        if kind and a is not own and role(d, call) == SETS:
            raise SystemExit(f'{where}: {call.name}: what it sets depends on another descriptor, {a.name}')
        if kind in d.profile.constants and not a.type.const and a is not own and a.name not in said:
            raise SystemExit(f'{where}: {call.name}: {a.name} is not const: +alters or +leaves says what it does')


def kinds(d, api):
    """The kinds of a library, for its client."""
    text = ''
    for name in d.lists['kept']:
        end = next(c for c in api.calls.values() if c.forwarded and role(d, c) == ENDS and
                   name_of(d, descriptor(d, c).type) == name)
        at = descriptor(d, end).name
        text += (f'struct wh_kept_kind wh_kept_{name} = {{\n\t.library = &wh_{d.profile.name}_library,\n'
                 f'\t.end = WH_CALL_{end.name},\n\t.end_size = sizeof(struct wh_req_{end.name}),\n'
                 f'\t.end_at = offsetof(struct wh_req_{end.name}, {at}),\n}};\n\n')
    return text


def declarations(d):
    if not d.lists['kept']:
        return ''
    pro = d.profile
    text = ''.join(f'extern struct wh_kept_kind wh_kept_{name};\n' for name in d.lists['kept'])
    return text + (f'\nstatic inline {pro.status} wh_{pro.name}_kept(bool answered, int32_t res, CUresult lost)\n'
                   f'{{\n\treturn answered ? ({pro.status})res : wh_{pro.name}_lost(lost);\n}}\n\n')


def locals_of(d, call):
    """Numbers of the worker's descriptors, before the slot is taken."""
    own = descriptor(d, call) if role(d, call) else None
    out = []
    for a in call.args:
        kind = name_of(d, a.type)
        if not kind or a is own:
            continue
        if a.name in call.hooks.get('alters', []):
            out.append(f'const uint64_t {a.name}_id = wh_kept_own((uint64_t){a.name});')
        else:
            out.append(f'const uint64_t {a.name}_id = wh_kept_real(&wh_kept_{kind}, (uint64_t){a.name});')
    return out


def pack(d, call, a):
    own = descriptor(d, call) if role(d, call) else None
    return [] if a is own else [f'q->{a.name} = {a.name}_id;']


def places(call, a, message):
    """Where the request or its response has the descriptor, and where the request has an address for it."""
    kept_in = [f'offsetof(struct wh_req_{call.name}, {x.name})' for x in call.args if x.kind == 'addr'] or ['0']
    return (f'(struct wh_kept_places) {{\n\t\toffsetof(struct wh_{message}_{call.name}, {a.name}),'
            f'\n\t\t{kept_in[0]} }}')


def run(d, call):
    """Statements in the place of those that send the request."""
    a, pro = descriptor(d, call), d.profile
    lib, bad = pro.name, pro.errors['handle']
    if role(d, call) == MAKES:
        return [f'answered = wh_kept_make(&c, &wh_kept_{name_of(d, a.object)},',
                f'\t\t{places(call, a, "rsp")}, &made, &status);',
                f'res = wh_{lib}_kept(answered, status, c.result);', f'if (res == {pro.success})',
                f'\t*{a.name} = ({a.object.bare})made;']
    what, at = ('end', '') if role(d, call) == ENDS else \
        ('set', places(call, a, 'req') + ', ')
    return [f'answered = wh_kept_{what}(&c, &wh_kept_{name_of(d, a.type)}, (uint64_t){a.name},',
            f'\t\t{at}{bad}, &status);', f'res = wh_{lib}_kept(answered, status, c.result);']


def end(d, call, head):
    """The whole function of one that ends a descriptor."""
    body = ''.join(f'\t{x}\n' for x in run(d, call))
    return (f'{head}\n{{\n\tstruct wh_call c;\n\t{d.profile.status} res;\n\tint32_t status = 0;\n'
            f'\tbool answered;\n\n{body}\treturn res;\n}}\n\n')
