#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# A server VM that was taken over: hostile_vm.py SOCKET KIND answers each request wrongly.
import os
import random
import socket
import struct
import sys

HEAD = "<QQIIII"
MAGIC = 0x4E4E414843544857


def answer(kind, head):
    magic, nonce, version, what, _, _ = struct.unpack(HEAD, head)
    what |= 0x80000000

    def reply(body, refused=0, size=None):
        return struct.pack(HEAD, magic, nonce, version, what, refused,
                           len(body) if size is None else size) + body

    if kind == "noise":
        return random.Random(1).randbytes(200000)
    if kind == "large":
        return reply(b"x" * 64, size=0xFFFFFFFF)
    if kind == "short":
        return reply(b"", size=0)
    if kind == "breaks_off":
        return reply(b"x" * 64, size=65536)
    if kind == "windows":
        return reply(struct.pack("<II", 0xFFFFFFFF, 0) + b"\xff" * 4096)
    if kind == "workers":
        return reply(struct.pack("<II", 16, 0) + b"\xff" * 65536)
    if kind == "failed":
        return reply(struct.pack("<4I", 2, 1, 1, 1) + b"\x1b[2Jno\n".ljust(400, b"\xff"))
    if kind == "words":
        return reply(b"\x1b[2J\x9bno\n" + b"\xff" * 1000, refused=1)
    return random.Random(2).randbytes(100) + reply(b"late", refused=1)


listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1] + ".new")
listener.listen(4)
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    conn = listener.accept()[0]
    head = conn.recv(4096)[:struct.calcsize(HEAD)]
    try:
        conn.sendall(answer(sys.argv[2], head))
    except OSError:
        pass
    conn.close()
