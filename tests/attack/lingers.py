# SPDX-License-Identifier: Apache-2.0
"""lingers.py SOCKET sends a descriptor with its first message, before anybody reads: a connection
whose close waits for ten minutes, since its other end takes nothing of what is on its way. The
program prints "sent", then what it hears, and "ended" when the server has closed. It lives until it
is killed, and so does the other end."""
import array
import socket
import struct
import sys
import time


def lingering():
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen()
    s = socket.create_connection(listener.getsockname())
    other = listener.accept()[0]
    s.setblocking(False)
    try:
        while True:
            s.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    s.setblocking(True)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 600))
    return s, other


def main():
    s, other = lingering()
    conn = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    conn.connect(sys.argv[1])
    conn.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [s.fileno()]))])
    s.close()
    print('sent', flush=True)
    try:
        # Behind the numbers of the welcome (hypercall-abi/shm.h) stands why there is no worker.
        print('heard', conn.recv(4096)[32:].split(b'\0')[0].decode(), flush=True)
        conn.recv(1)
    except ConnectionResetError:    # its message was not read
        pass
    print('ended', flush=True)
    time.sleep(1000)
    other.close()


main()
