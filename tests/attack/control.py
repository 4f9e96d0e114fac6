# SPDX-License-Identifier: Apache-2.0
"""control.py SOCKET TENANT sends requests to a server that are right but for one thing. Earlier the
server ignored a misspelled name or a value of another type, and made the tenant without its
limits. The server must refuse each request and name what is wrong. A refused request makes no
tenant, does not change TENANT, and does not end the server. The program prints TAP, ten points."""
import json
import os
import socket
import sys

TYPES = {'a string': 'text', 'a number': 7, 'true or false': True, 'a list': [], 'an object': {}, '': None}
LIMIT = {'device': 0, 'memory': 1 << 20, 'sm': 30, 'policy': 'temporal'}
GOOD = [
    {'op': 'create', 'tenant': 'x', 'uid': os.getuid(), 'ephemeral': False, 'limits': [LIMIT], 'host_memory': 1 << 30},
    {'op': 'set', 'tenant': 'T', 'limits': [LIMIT], 'host_memory': 1 << 30},
    {'op': 'delete', 'tenant': 'T', 'force': True},
    {'op': 'list'}, {'op': 'stop'}, {'op': 'info'},
]
NUMBERS = {
    'memory': [-1, 1.5, 1e300, 1 << 60], 'sm': [0, 101, -30, 30.5, 1e300], 'device': [-1, 16, 0.5, 1e300],
    'host_memory': [-1, 1.5, 1e300], 'uid': [-1, 1.5, 1 << 32],
}
LONGEST = 65536


class Control:
    """A client of the control socket."""

    def __init__(self, path, tenant):
        self.path, self.tenant, self.socket, self.points, self.failed = path, tenant, None, 0, 0

    def ask(self, text):
        for _ in range(2):
            try:
                if not self.socket:
                    self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    self.socket.connect(self.path)
                self.socket.send(text.replace('"T"', json.dumps(self.tenant)).encode())
                answer = self.socket.recv(LONGEST)
                if answer:
                    return json.loads(answer)
            except OSError:
                pass
            # The server has closed the connection: try once more, on a new one.
            self.socket = None
        return {'ok': True, 'error': 'the server is gone'}

    def tenants(self):
        return sorted(t['tenant'] for t in self.ask('{"op":"list"}').get('tenants', []))

    def point(self, good, name):
        self.points += 1
        self.failed += not good
        print(f'{"ok" if good else "not ok"} {self.points} - {name}', flush=True)

    def refused(self, name, cases):
        """Sends each case, a text with a word that the answer must contain."""
        before, bad = self.tenants(), []
        for text, word in cases:
            answer = self.ask(text)
            if answer.get('ok') is not False or word not in answer.get('error', ''):
                bad.append(f'{text[:200]}: {answer}')
            if self.tenants() != before:
                bad.append(f'{text[:200]}: there are {self.tenants()} in place of {before}')
                break
        self.point(cases and not bad, name)
        for line in bad[:10]:
            print('#', line)


def members(request):
    """Yields each member of each object of a request: (the object, the key)."""
    for o in [request] + request.get('limits', []):
        for key in o:
            yield o, key


def with_change(request, o, change):
    """Returns the request as text, with the object o replaced by another one, which is given as
    text."""
    mark = '"?"'
    if o is request:
        return change
    return json.dumps(dict(request, limits=['?'])).replace(mark, change)


def renamed(o, key, name):
    return json.dumps({name if k == key else k: v for k, v in o.items()})


def changed(o, key, value):
    return json.dumps(dict(o, **{key: value}))


def misspelled(forms):
    """Misspells each key; a request without "op" asks for nothing."""
    for request in GOOD:
        for o, key in members(request):
            for name in forms(key):
                word = 'no request' if key == 'op' else f"'{name}': unknown"
                yield with_change(request, o, renamed(o, key, name)), word


def said_twice():
    for request in GOOD:
        for o, key in members(request):
            again = f'{json.dumps(o)[:-1]}, {json.dumps(key)}: {json.dumps(o[key])}}}'
            yield with_change(request, o, again), f'{key}: is said twice'


def of_other_types():
    for request in GOOD:
        for o, key in members(request):
            own = next(name for name, v in TYPES.items() if type(v) is type(o[key]))
            for other, value in TYPES.items():
                if other != own:
                    word = 'no request' if key == 'op' else f'{key}: is to be {own}'
                    yield with_change(request, o, changed(o, key, value)), word


def out_of_bounds():
    for request in GOOD[:2]:
        for o, key in members(request):
            for value in NUMBERS.get(key, ()):
                yield with_change(request, o, changed(o, key, value)), f'{key}: not a whole number'
            if key == 'policy':
                yield with_change(request, o, changed(o, key, 'fair')), "policy: 'fair' is neither"


def limit_nothing():
    for request in GOOD[:2]:
        for entry in '{}', '{"device":0}':
            yield json.dumps(dict(request, limits=['?'])).replace('"?"', entry), 'limits nothing'
        for entry in '"mem=1M"', '7', 'null', '[{"memory":1048576}]':
            yield json.dumps(dict(request, limits=['?'])).replace('"?"', entry), 'each entry is to be an object'


def no_json():
    for request in map(json.dumps, GOOD):
        for text in request[:-1], request + ' and more', request + request, 'x' + request, request.replace('"', "'"):
            yield text, 'not one JSON object'
        yield f'[{request}]', 'no request'
        yield request + ' ' * LONGEST, 'longer than 64 KiB'


def main():
    c = Control(*sys.argv[1:])
    made = c.ask(json.dumps(GOOD[0]))
    c.point(made.get('ok') is True and c.ask('{"op":"delete","tenant":"x"}').get('ok') is True,
            'a_request_with_every_word_is_taken')
    c.refused('words_with_a_letter_too_few_are_refused_by_name', list(misspelled(lambda k: [k[:-1], k[1:]])))
    c.refused('so_are_words_with_a_letter_too_many', list(misspelled(lambda k: [k + 's', k + ' ', ' ' + k])))
    c.refused('and_words_in_another_case', list(misspelled(lambda k: [k.upper(), k.capitalize()])))
    c.refused('words_that_are_said_twice_are_refused', list(said_twice()))
    c.refused('values_of_another_type_are_refused', list(of_other_types()))
    c.refused('values_out_of_bounds_are_refused', list(out_of_bounds()))
    c.refused('limits_that_limit_nothing_are_refused', list(limit_nothing()))
    c.refused('what_is_not_one_object_is_refused', list(no_json()))
    c.point(c.tenants() == ['default', c.tenant], 'no_tenant_came_of_them_and_none_went')
    sys.exit(c.failed != 0)


main()
