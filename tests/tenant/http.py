#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""http.py ADDRESS WAY... prints what `wormhole metrics --listen` answers, a line for each way.

ADDRESS is a path, or PORT of 127.0.0.1. A way is a method of /metrics, METHOD:PATH, or
`garbage', `long' (a head without an end), `silent' (says nothing; the next way is asked
meanwhile), `crowd' (1,000 clients that say nothing). An answer that is late is asked for again, up to
five times in all and beside others that say nothing: on a busy machine one may be late.
"""
import resource
import socket
import sys
import time

TRIES = 5
held = []       # a list of clients that say nothing for each such way


def connect(address):
    if address.startswith('/'):
        s = socket.socket(socket.AF_UNIX)
        s.connect(address)
    else:
        s = socket.create_connection(('127.0.0.1', int(address)))
    s.settimeout(20)
    return s


def answer(s):
    text = b''
    try:
        while more := s.recv(65536):
            text += more
    except ConnectionResetError:
        pass
    s.close()
    return text.decode()


def ask(address, way):
    s = connect(address)
    if way == 'garbage':
        s.sendall(b'\x00\xff what\r\n\r\n')
    elif way == 'long':
        s.sendall(b'GET /metrics HTTP/1.1\r\nX: ' + b'x' * 8000)
    else:
        method, _, path = way.partition(':')
        s.sendall(f'{method} {path or "/metrics"} HTTP/1.1\r\nHost: here\r\n'.encode())
        s.sendall(b'Accept: text/plain\r\n\r\n')
    return answer(s)


def hold(address, number):
    held.append([connect(address) for _ in range(number)])


def hold_again(address):
    """Puts others in the place of the last ones."""
    last = held.pop()
    for s in last:
        s.close()
    hold(address, len(last))


def look(address, way):
    begin = time.monotonic()
    head, _, body = ask(address, way).partition('\r\n\r\n')
    fields = dict(line.split(': ', 1) for line in head.split('\r\n')[1:])
    right = len(body.encode()) == int(fields['Content-Length']) or way == 'HEAD'
    return (head.split('\r\n')[0].removeprefix('HTTP/1.1 '),
            'metrics' if 'wormhole_up 1\n' in body else 'no metrics',
            'whole' if right else 'cut', 'late' if time.monotonic() - begin > 2 else 'in time')


def main():
    address = sys.argv[1]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2100, hard), hard))
    for way in sys.argv[2:]:
        if way in ('silent', 'crowd'):
            hold(address, 1000 if way == 'crowd' else 1)
            continue
        for _ in range(TRIES):
            said = look(address, way)
            if said[-1] == 'in time':
                break
            if held:
                hold_again(address)
        print(way, *said)


main()
