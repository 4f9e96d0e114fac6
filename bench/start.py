#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long a program takes from its start to its end, natively and as a tenant's of two builds, in turns.

Usage: start.py SECONDS OLD-BUILD NEW-BUILD PROGRAM...

A build is a build folder of `make shm`; a program ends soon and needs nothing but the CUDA runtime (a program of
examples/, with PTX alone and with code for this device: -arch=native). Each build has a server of its own, on the same
GPU, with a tenant that stays. Prints milliseconds, and the new build's mean to the old one's with its 95 % interval.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time


def wormhole(build, top, *words):
    """The server's folder is before what `run' runs."""
    at = words.index('--') if '--' in words else len(words)
    folder = ('--dir', os.path.join(top, os.path.basename(build)))
    return [os.path.join(build, 'host/wormhole'), *words[:at], *folder, *words[at:]]


def do(command, log):
    with open(log, 'w', encoding='utf-8') as f:
        rc = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=f, stderr=f, check=False).returncode
    if rc:
        with open(log, encoding='utf-8') as f:
            sys.exit(f'error: {" ".join(command)}: status {rc}\n{f.read()}')


def ratio(old, new):
    return statistics.mean(new) / statistics.mean(old) * 100 - 100


def interval(old, new):
    """95 % of the ratio, by drawing anew."""
    drawn = sorted(ratio(random.choices(old, k=len(old)), random.choices(new, k=len(new))) for _ in range(2000))
    return drawn[50], drawn[-51]


def main():
    seconds, builds, programs = float(sys.argv[1]), [os.path.abspath(p) for p in sys.argv[2:4]], sys.argv[4:]
    if not programs or os.path.basename(builds[0]) == os.path.basename(builds[1]):
        sys.exit(__doc__ + '\nThe builds need names of their own (a link will do).')
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        log = os.path.join(top, 'log')
        for b in builds:
            do(wormhole(b, top, 'serve', '--daemon'), log)
            do(wormhole(b, top, 'tenant', 'create', 'bench', '--mem', '8G'), log)
        try:
            measure(seconds, builds, programs, top, log)
        finally:
            for b in builds:
                subprocess.run(wormhole(b, top, 'stop'), stdin=subprocess.DEVNULL, check=False)


def measure(seconds, builds, programs, top, log):
    ways = {}
    for p in programs:
        ways[('native', p)] = [os.path.abspath(p)]
        for b in builds:
            ways[(b, p)] = wormhole(b, top, 'run', '--tenant', 'bench', '--', os.path.abspath(p))
    took = {w: [] for w in ways}
    for command in ways.values():
        do(command, log)
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(took[('native', programs[0])]) < 3:
        for way in random.sample(sorted(ways), len(ways)):
            began = time.monotonic()
            do(ways[way], log)
            took[way].append((time.monotonic() - began) * 1000)
    for (who, p), t in took.items():
        print(f'{os.path.basename(p):16} {os.path.basename(who):12} {len(t):4} runs  median '
              f'{statistics.median(t):7.1f} ms  mean {statistics.mean(t):7.1f} +- '
              f'{statistics.stdev(t) / len(t) ** .5:.1f}')
    for p in programs:
        old, new = (took[(b, p)] for b in builds)
        low, high = interval(old, new)
        print(f'{os.path.basename(p):16} new to old: {ratio(old, new):+.2f} % (95 %: {low:+.2f} to {high:+.2f})')


if __name__ == '__main__':
    main()
