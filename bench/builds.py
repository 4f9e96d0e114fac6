#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compare a program natively and as a tenant of two builds, in turns: launches, copies, and starts.

Usage: builds.py SECONDS OLD-BUILD NEW-BUILD [PROGRAM...]

A build is a build folder of `make shm`. build/bench/turns comes from `make -C bench` beside this script (or
WH_BUILD). A PROGRAM must end soon and need only the CUDA runtime (one of examples/, with PTX alone and with code
for this device: -arch=native). Each build has a server of its own, on the same GPU, with a permanent tenant.

Half of the time (all of it without programs) is for launches and copies: processes that live for one round take
turns of a few milliseconds on one CPU, natively, old, new, in random order. Whole programs follow. The output is
the time of a call or a program, and how much longer it takes with the new build than with the old one, with the
95 % interval. The interval is over rounds, since differences of processes (the place of memory) stay with a process.

For a trial: WH_TEST_DEVICE=softgpu with LD_LIBRARY_PATH=build/softgpu.
"""

import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

TURNS = 12              # of each kind in a round
TURN_MS = 8
SIZES = (4 << 10, 256 << 10, 4 << 20, 64 << 20)
KINDS = ['launch', 'launch_wait'] + [f'{side}_{memory}_{size}' for memory in ('pageable', 'pinned')
                                    for side in ('h2d', 'd2h') for size in SIZES]
BACKEND = ['--backend', 'softgpu'] if os.environ.get('WH_TEST_DEVICE') == 'softgpu' else []


def cpus():
    """Return the program's CPU, and the servers'. The CPU in between may be a hyperthread of either."""
    all_of_them = sorted(os.sched_getaffinity(0))
    return str(all_of_them[-1]), ','.join(map(str, all_of_them[-4:-2] or all_of_them[:1]))


def wormhole(build, top, *words):
    """Return the words of a command. The server's folder comes before the words of the program."""
    at = words.index('--') if '--' in words else len(words)
    folder = ('--dir', os.path.join(top, os.path.basename(build)))
    return [os.path.join(build, 'host/wormhole'), *words[:at], *folder, *words[at:]]


def do(command, log):
    with open(log, 'w', encoding='utf-8') as f:
        rc = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=f, stderr=f, check=False).returncode
    if rc:
        with open(log, encoding='utf-8') as f:
            sys.exit(f'error: {" ".join(command)}: status {rc}\n{f.read()}')


class Worlds:
    """Commands that run a program natively and in each build, and their times: seconds by (what,
    world), one number per round."""

    def __init__(self, top, builds):
        self.top, self.builds = top, builds
        self.log = os.path.join(top, 'log')
        self.names = ['native'] + [os.path.basename(b) for b in builds]
        self.took = {}

    def command(self, world, *words):
        if world == 'native':
            return list(words)
        return wormhole(self.builds[self.names.index(world) - 1], self.top, 'run', '--tenant', 'bench', '--', *words)

    def add(self, what, world, seconds):
        self.took.setdefault(what, {}).setdefault(world, []).append(seconds)

    def serve(self):
        for b in self.builds:
            do(['taskset', '-c', cpus()[1], *wormhole(b, self.top, 'serve', '--daemon', *BACKEND)], self.log)
            do(wormhole(b, self.top, 'tenant', 'create', 'bench', '--mem', '8G'), self.log)

    def stop(self):
        for b in self.builds:
            # It stays where the build keeps tenants over a restart.
            subprocess.run(wormhole(b, self.top, 'tenant', 'delete', 'bench', '--force'), stdin=subprocess.DEVNULL,
                           check=False)
            subprocess.run(wormhole(b, self.top, 'stop'), stdin=subprocess.DEVNULL, check=False)

    def report(self):
        old, new = self.names[1:]
        print(f'{"":22} {"rounds":>6} {"native":>12} {old[:12]:>12} {new[:12]:>12}   {new} takes longer than {old} by')
        for what, took in self.took.items():
            ratios = [math.log(n / o) for o, n in zip(took[old], took[new])]
            mean, half = statistics.mean(ratios), 1.96 * statistics.stdev(ratios) / math.sqrt(len(ratios))
            by = [math.expm1(x) * 100 for x in (mean, mean - half, mean + half)]
            medians = ' '.join(f'{spell(statistics.median(took[w])):>12}' for w in self.names)
            print(f'{what:22} {len(ratios):6} {medians}   {by[0]:+.2f} % (95 %: {by[1]:+.2f} to {by[2]:+.2f})')


def spell(seconds):
    return f'{seconds * 1e6:.2f} us' if seconds < 1e-3 else f'{seconds * 1e3:.2f} ms'


class Player:
    """A process that takes turns."""

    def __init__(self, worlds, world, program):
        self.p = subprocess.Popen(['taskset', '-c', cpus()[0], *worlds.command(world, program)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.world = world

    def turn(self, kind, ms):
        self.p.stdin.write(f'{kind} {ms}\n')
        self.p.stdin.flush()
        words = self.p.stdout.readline().split()
        if len(words) != 3:
            sys.exit(f'error: {self.world}: no answer to {kind}')
        return int(words[2]) / int(words[1]) / 1e9

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def one_round(worlds, program):
    """Measure one round: the median turn of each kind, so that one disturbed turn has no effect."""
    players = [Player(worlds, w, program) for w in random.sample(worlds.names, 3)]
    for kind in KINDS:
        took = {p: [] for p in players}
        # The first turn is a warm-up for work that is done once.
        for p in players:
            p.turn(kind, 1)
        for _ in range(TURNS):
            for p in random.sample(players, len(players)):
                took[p].append(p.turn(kind, TURN_MS))
        for p, t in took.items():
            worlds.add(kind, p.world, statistics.median(t))
    for p in players:
        p.end()


def starts(worlds, programs):
    for program in programs:
        for w in random.sample(worlds.names, len(worlds.names)):
            command = worlds.command(w, os.path.abspath(program))
            began = time.monotonic()
            do(command, worlds.log)
            worlds.add('start of ' + os.path.basename(program), w, time.monotonic() - began)


def repeat(seconds, what, *arguments):
    began = said = time.monotonic()
    n = 0
    while (now := time.monotonic()) < began + seconds or n < 3:
        if now > said + 10:
            said = now
            print(f'  {what.__name__}: {n} rounds, {now - began:.0f} of {seconds:.0f} s', file=sys.stderr, flush=True)
        what(*arguments)
        n += 1


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    seconds, builds, programs = float(sys.argv[1]), [os.path.abspath(p) for p in sys.argv[2:4]], sys.argv[4:]
    if os.path.basename(builds[0]) == os.path.basename(builds[1]):
        sys.exit('error: the builds need names of their own (a link will do)')
    here = os.environ.get('WH_BUILD', os.path.join(os.path.dirname(os.path.abspath(__file__)), '../build'))
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        worlds = Worlds(top, builds)
        worlds.serve()
        try:
            repeat(seconds / (2 if programs else 1), one_round, worlds, os.path.join(here, 'bench/turns'))
            for program in programs:            # This run fills the driver's caches.
                for w in worlds.names:
                    do(worlds.command(w, os.path.abspath(program)), worlds.log)
            if programs:
                repeat(seconds / 2, starts, worlds, programs)
        finally:
            worlds.stop()
        worlds.report()


if __name__ == '__main__':
    main()
