# SPDX-License-Identifier: Apache-2.0
"""Code for objects of a library that keep addresses (lines `holds`). What makes or sets one, i.e.
has no object of the library's handle, notes the addresses in the worker; what reads one with
such a handle asks for them again (server/session/held.h)."""


def name_of(d, ctype):
    """The kind of object that a type is, or None."""
    if ctype is None or ctype.kind == 'pointer':
        return None
    name = d.lists['alias'].get(ctype.bare, ctype.bare)
    return name if name in d.lists['holds'] else None


def _object(d, call):
    """The one that a call makes or sets, or None."""
    return next((a for a in call.args if name_of(d, a.object if a.kind == 'out' else a.type)), None)


def _notes(d, call):
    """The addresses that its object keeps from then on."""
    reads = any(a.kind == 'object' for a in call.args)
    return [] if reads or not _object(d, call) else [a for a in call.args if a.reach == 'device']


def _are_values(a):
    return a.name.lower().endswith(('values', 'value'))


def _place(notes, a):
    """Values are set alone, too; the others together, always in the same order."""
    return 0 if _are_values(a) else 1 + [x for x in notes if not _are_values(x)].index(a)


def take(d, call, a):
    """Behind the check of a handle that is read."""
    if not name_of(d, a.type) or not any(x.kind == 'object' for x in call.args):
        return []
    return [f'if (!wh_held_reach(s, q->{a.name}))', f"\treturn {d.profile.errors['value']};"]


def room(d, call):
    return ['if (!wh_held_room(s))', f"\treturn {d.profile.errors['memory']};"] if _notes(d, call) else []


def reply(d, call):
    """Once the library has taken them."""
    notes, a = _notes(d, call), _object(d, call)
    if len(notes) > 3:
        raise SystemExit(f'{d.path}: {call.name}: an object that holds more than WH_HELD addresses')
    message = 'r' if a and a.kind == 'out' else 'q'
    return [f'wh_hold(s, {message}->{a.name}, {_place(notes, x)}, q->{x.name});' for x in notes]
