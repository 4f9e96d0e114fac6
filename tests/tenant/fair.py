# SPDX-License-Identifier: Apache-2.0
"""fair.py ATTACKER VICTIM N prints how long a client of the socket VICTIM waits for its worker
beside N clients of ATTACKER that come again and again. It is a multiple of the time that it
takes alone; both are medians of nine."""
import os
import select
import socket
import statistics
import sys
import time

attacker, victim, n = sys.argv[1], sys.argv[2], int(sys.argv[3])

def dial(path, block):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(block)
    try:
        s.connect(path)
    except BlockingIOError:
        s.close()
        return None
    return s

def start():
    begin = time.monotonic()
    s = dial(victim, True)
    s.recv(4096)
    took = time.monotonic() - begin
    s.close()
    return took

def median():
    return statistics.median(start() for _ in range(9))

def flood(until):
    p = select.poll()
    live = {}
    while True:
        while len(live) < n:
            s = dial(attacker, False)
            if not s:
                break
            live[s.fileno()] = s
            p.register(s, select.POLLIN)
        for fd, _ in p.poll(10):
            p.unregister(fd)
            live.pop(fd).close()
        if select.select([until], [], [], 0)[0]:
            return

alone = median()
r, w = os.pipe()
pid = os.fork()
if not pid:
    os.close(w)
    flood(r)
    os._exit(0)
start()
beside = median()
os.close(w)
os.waitpid(pid, 0)
print(f"{beside / alone:.1f}")
