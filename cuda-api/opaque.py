# SPDX-License-Identifier: Apache-2.0
"""Code for structs in the program's memory whose inside only the library knows (kinds `opaque` and `fresh`). The
program's struct has the name of one in the worker, a box (client-stubs/opaque.h, server/session/box.h)."""


def types_of(d):
    return list(d.lists['opaque'])


def good(d, a):
    """Client, before a call: checks that there is a struct, or a place for one."""
    if a.kind == 'fresh':
        return [f'if (!{a.name})', f"\treturn {d.profile.errors['value']};"]
    return [f'if (!wh_opaque_is({a.name}, WH_H_{a.object.bare}))', f"\treturn {d.profile.errors['handle']};"]


def unpack(a):
    """Client, after a call: writes the program's struct."""
    return [f'wh_opaque_make({a.name}, WH_H_{a.object.bare}, r->{a.name});'] if a.kind == 'fresh' else []


def take(d, a, name):
    if a.kind == 'fresh':
        return []
    return [f'{name} = wh_handles_get(&s->handles, q->{a.name}, WH_H_{a.object.bare});', f'if (!{name})',
            f"\treturn {d.profile.errors['handle']};"]


def room(d, a, name):
    """Worker, right before the call: makes a box. Nothing leaves the handler between this and `done`."""
    if a.kind != 'fresh':
        return []
    return [f'{name} = wh_box_new(sizeof(*{name}));', f'if (!{name})', f"\treturn {d.profile.errors['memory']};"]


def done(d, call, local):
    """Worker, after a call that makes one: the box is freed, or stays with those that it was made from."""
    out = []
    for a in call.args:
        if a.kind != 'fresh':
            continue
        name, of = local(a), [local(x) for x in call.args if x.kind == 'opaque']
        out += [f'if (res == {d.profile.success}) {{'] + [f'\twh_box_needs({name}, {x});' for x in of]
        follows = 'true' if a.object.bare in d.profile.follows else 'false'
        out += [f'\tr->{a.name} = wh_box_put(s, WH_H_{a.object.bare}, {name}, {follows});',
                f'\tif (!r->{a.name})', f"\t\tres = {d.profile.errors['memory']};",
                '} else {', f'\twh_box_free(s, {name});', '}']
    return out
