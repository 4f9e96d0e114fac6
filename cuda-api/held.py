# SPDX-License-Identifier: Apache-2.0
"""Code for objects of a library that keep addresses (lines `holds`). A call that makes or sets one, i.e. that has no
object of the library's handle, notes the addresses in the worker. A call that reads one with such a handle asks for
them again (server/session/held.h)."""


def _notes(d, call):
    """Returns the addresses that its object keeps from then on."""
    reads = any(a.kind == 'object' for a in call.args)
    return [] if reads or not d.first_listed('holds', call) else [a for a in call.args if a.reach == 'device']


def _are_values(a):
    return a.name.lower().endswith(('values', 'value'))


def _place(notes, a):
    """Returns the place of an address: values are also set alone; the others are set together, always in the
    same order."""
    return 0 if _are_values(a) else 1 + [x for x in notes if not _are_values(x)].index(a)


def _asks_sizes(call):
    """Does the call follow none of the addresses? cuSPARSE's documentation says so of these."""
    return call.name.endswith('_bufferSize')


def keeps(d, call, a):
    """Is it an address that the object keeps from then on?"""
    return a in _notes(d, call)


def local(a):
    return f'kept_{a.name}'


def locals_of(d, call):
    return [('uint64_t', local(a)) for a in _notes(d, call)]


def take(d, call, a):
    """Returns the check that follows the check of a handle that is read."""
    if not d.listed('holds', a.type) or not any(x.kind == 'object' for x in call.args):
        return []
    reach = 'wh_held_sizes' if _asks_sizes(call) else 'wh_held_reach'
    return [f'if (!{reach}(s, q->{a.name}))', f"\treturn {d.profile.errors['value']};"]


def keep(a):
    """Replaces the check of an address that is followed at once."""
    return [f'{local(a)} = wh_held_keep(s, q->{a.name});']


def room(d, call):
    return ['if (!wh_held_room(s))', f"\treturn {d.profile.errors['memory']};"] if _notes(d, call) else []


def _said(d, call):
    """Returns the object that a call is about and does not read, and the addresses that the call answers about it."""
    of = next((a for a in call.args if a.kind == 'handle' and d.listed('holds', a.type)), None)
    if not of or any(a.kind == 'object' for a in call.args):
        return None, []
    return of, [a for a in call.args if a.kind == 'addrout']


def reply(d, call):
    """Comes after the library has accepted the addresses, or has answered them."""
    notes, a = _notes(d, call), d.first_listed('holds', call)
    if len(notes) > 3:
        raise SystemExit(f'{d.path}: {call.name}: an object that holds more than WH_HELD addresses')
    message = 'r' if a and a.kind == 'out' else 'q'
    of, said = _said(d, call)
    return [f'wh_hold(s, {message}->{a.name}, {_place(notes, x)}, q->{x.name}, {local(x)});' for x in notes] + \
        [f'r->{x.name} = wh_held_say(s, q->{of.name}, {_place(said, x)}, r->{x.name});' for x in said]
