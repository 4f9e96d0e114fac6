#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Stands in for QEMU's socket and a VM's virtio port: port.py SOCKET NAME-OF-THE-PORT. It joins
# one client of the socket at a time with a terminal line, whose other end the supervisor opens by
# the name.
import os
import select
import socket
import sys
import tty

master, slave = os.openpty()
tty.setraw(slave)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(1)
os.symlink(os.ttyname(slave), sys.argv[2] + ".new")
os.rename(sys.argv[2] + ".new", sys.argv[2])
while True:
    conn = listener.accept()[0]
    while True:
        ready = select.select([conn, master], [], [])[0]
        if master in ready:
            try:
                conn.sendall(os.read(master, 65536))
            except OSError:
                break
        if conn in ready:
            try:
                data = conn.recv(65536)
            except ConnectionResetError:    # the client left before it had read its answer
                break
            if not data:
                break
            os.write(master, data)
    conn.close()
