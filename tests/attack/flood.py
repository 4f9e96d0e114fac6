# SPDX-License-Identifier: Apache-2.0
"""flood.py SOCKET N [hasty] connects N times. It hangs up when it has heard something, or, with
`hasty`, at once. Earlier each connection wrote a line of the log, which filled the disk: 200,000
of them wrote 15.8 MB. The program prints how often each answer came: "N served", or "N" and why
there was no worker."""
import collections
import socket
import sys


def main():
    path, n, hasty = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
    said = collections.Counter()
    for _ in range(n):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(path)
        # Behind the numbers of the welcome (hypercall-abi/shm.h) stands why there is no worker, or
        # nothing.
        text = b'' if hasty else s.recv(4096)[32:].split(b'\0')[0]
        said[text.decode() or 'served'] += 1
        s.close()
    for text, times in said.items():
        print(times, text)


main()
