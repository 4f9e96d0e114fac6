# SPDX-License-Identifier: Apache-2.0
"""flood.py SOCKET N [hasty]: a user who connects N times and hangs up when it has heard something, or (hasty) at once.
Once, a line of the log for each filled the disk: 200,000 of them wrote 15.8 MB. Counts what was said: "N served", or
"N" and why there was no worker."""
import collections
import socket
import sys


def main():
    path, n, hasty = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
    said = collections.Counter()
    for _ in range(n):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(path)
        # Behind the welcome's numbers (hypercall-abi/shm.h): why there is no worker, or nothing.
        text = b'' if hasty else s.recv(4096)[32:].split(b'\0')[0]
        said[text.decode() or 'served'] += 1
        s.close()
    for text, times in said.items():
        print(times, text)


main()
