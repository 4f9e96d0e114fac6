#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lets memory, processes and descriptors run out at the n-th call of each step.

Usage: faults.py all|N SEED     all: n = 1, 2, ... until the step has no such call; N: so many n
of each, at random. WH_FAULT: only this walk, "step kind role", or only this n of it,
"step kind role n"

fail.so (fail.c) is preloaded into server, workers and command, and lets one call fail. Each step
(serve, create, run, attach, export) either succeeds all the same or says what is missing. No
process of the server dies of a signal, and nothing is left of the step. After every 16th step a
program of another tenant has right results, and the same step succeeds. The program prints
"find: ..." for each find, and a last line "CASES faults: ...".
"""

import os
import random
import re
import shutil
import struct
import subprocess
import sys
import time

from kills import (BUILD, WORMHOLE, LOAD, Find, Program, Server, finish, folder_of_servers, parent, processes, read,
                   until)

CLIENT = os.path.join(BUILD, 'tests/tenant/bin/client')
FAIL = os.path.join(BUILD, 'tests/tenant/bin/fail.so')
KINDS = {'memory': 1, 'process': 2, 'descriptor': 3}
ROLES = {'command': 1, 'server': 2, 'worker': 3, 'child': 4}
NAMED = re.compile(r'emory|temporarily unavailable|open files|no descriptor|CUDA_ERROR_(?!UNKNOWN)|No space left')
MOST = 5000     # calls of a step: more than that is no step
PROGRAMS = ('run', 'attach', 'export')
PACE = .1       # seconds of a case with programs, which connect up to 3 times: a tenant is served 32 times a second
SECONDS = 30


class Fault:
    """The file that fail.so reads."""

    def __init__(self, path):
        self.path = path
        with open(path, 'wb') as f:
            f.write(bytes(4096))
        os.chmod(path, 0o666)

    def write(self, kind, role, at):
        with open(self.path, 'r+b') as f:
            f.write(struct.pack('<5I', 0, 0, 0, 0, 0))
            f.seek(0)
            f.write(struct.pack('<5I', kind, role, at, 0, 0))

    def fired(self):
        with open(self.path, 'rb') as f:
            return struct.unpack('<5I', f.read(20))[4] != 0


def command(words, env):
    """Returns the command's status and all that it says."""
    try:
        p = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors='replace', timeout=SECONDS, env=env, check=False)
    except subprocess.TimeoutExpired as e:
        raise Find(f'{words[1]} has not ended after {SECONDS} s') from e
    return p.returncode, p.stdout


class Steps:
    def __init__(self, top):
        self.top, self.fault = top, Fault(os.path.join(top, 'fault'))
        self.folder = os.path.join(top, 'd')
        os.environ['WORMHOLE_WORKER_ENV'] = 'LD_PRELOAD:FAIL_FILE'
        self.env = dict(os.environ, LD_PRELOAD=FAIL, FAIL_FILE=self.fault.path, WORMHOLE_LOG='1')
        self.server = None

    # --- Steps: (status, words) ---

    def serve(self):
        return command([WORMHOLE, 'serve', '--backend', 'softgpu', '--daemon', '--part-size', '16M', '--dir',
                        os.path.join(self.top, 'new')], self.env)

    def create(self):
        return command([WORMHOLE, 'tenant', 'create', 'x', '--mem', '64M', '--dir', self.folder], self.env)

    def run(self):
        return command([WORMHOLE, 'run', '--mem', '64M', '--dir', self.folder, '--', CLIENT, 'alloc=4096'], self.env)

    def attach(self):
        return command([WORMHOLE, 'run', '--tenant', 'a', '--dir', self.folder, '--', LOAD, '2', '1'], self.env)

    def export(self):
        handle = os.path.join(self.top, 'handle')
        return command([WORMHOLE, 'run', '--tenant', 'a', '--dir', self.folder, '--', CLIENT, 'alloc=4096',
                        'export=' + handle, 'event=' + handle, 'create=' + handle], self.env)

    # --- What must hold after each step ---

    def undo(self, step):
        if step == 'serve':
            new = os.path.join(self.top, 'new')
            command([WORMHOLE, 'stop', '--force', '--dir', new], None)
            if not until(lambda: not [p for p, w in processes().items() if new in w], SECONDS):
                raise Find('a server is left')
            left = set(os.listdir(new)) - {'server.lock', 'server.log'} if os.path.isdir(new) else set()
            if left:
                raise Find(f'files are left: {left}')
        if step == 'create':
            command([WORMHOLE, 'tenant', 'delete', 'x', '--dir', self.folder], None)
            kept = set(os.listdir(os.path.join(self.folder, 'state/tenants.d')))
            if kept != {'a.conf', 'b.conf'}:
                raise Find(f'kept: {kept}')
        tenants = os.path.join(self.folder, 'tenants')
        good = {f'{t}.{kind}' for t in ('a', 'b') for kind in ('limits', 'usage', 'sock')}
        good |= {'default.limits', 'default.usage', 'turns'}
        if not until(lambda: set(os.listdir(tenants)) == good and not self.server.workers(), SECONDS):
            raise Find(f'left: {set(os.listdir(tenants)) ^ good}, workers {self.server.workers()}')

    def check_log(self):
        log = self.server.log() + read(os.path.join(self.top, 'new/server.log'))
        died = re.search(r'.*(killed by signal|crash|corrupt).*', log)
        if died:
            raise Find(died.group(0))
        if self.server.pid not in processes() or parent(self.server.pid) < 0:
            raise Find('the server has ended')

    def witness(self):
        p = Program(self.server, 'b', 2, 3)
        finish([p])
        if not p.right():
            raise Find(f'another tenant: {p}')

    def again(self, step):
        status, words = getattr(self, step)()
        if status:
            raise Find(f'it fails after the faults, too: {words[-300:]}')
        self.undo(step)

    def start(self):
        os.environ.update(LD_PRELOAD=FAIL, FAIL_FILE=self.fault.path)
        self.server = Server(self.folder)
        del os.environ['LD_PRELOAD']
        command([WORMHOLE, 'limit', 'a', '--mem', '256M', '--dir', self.folder], None)

    def case(self, step, kind, role, at):
        """Makes one case. Returns False if there is no n-th call."""
        began = time.monotonic()
        self.fault.write(KINDS[kind], ROLES[role], at)
        status, words = getattr(self, step)()
        fired = self.fault.fired()
        self.fault.write(0, 0, 0)
        if status and not fired:
            raise Find(f'it fails without a fault: {words[-300:]}')
        if status < 0:
            raise Find(f'the command died of signal {-status}')
        if status and not NAMED.search(words):
            raise Find(f'it does not say what is missing: status {status}, "{words[-300:]}"')
        self.check_log()
        self.undo(step)
        if step in PROGRAMS:
            time.sleep(max(0, began + PACE - time.monotonic()))
        return fired


WALKS = [(step, kind, role) for step, roles in (
    ('serve', ('command', 'server', 'child')), ('create', ('command', 'server')), ('run', ('command', 'server')),
    ('attach', ('server', 'worker')), ('export', ('worker',))) for role in roles for kind in KINDS]


def numbers(steps, walk, how, r):
    """Yields each n, or some of them, for which it first counts how many there are."""
    if how == 'all':
        yield from range(1, MOST)
        return
    steps.fault.write(KINDS[walk[1]], ROLES[walk[2]], 0)
    getattr(steps, walk[0])()
    with open(steps.fault.path, 'rb') as f:
        count = struct.unpack('<5I', f.read(20))[3]
    steps.fault.write(0, 0, 0)
    steps.undo(walk[0])
    yield from sorted(r.sample(range(1, count + 1), min(int(how), count)))


def walk_all(top, how, r, only):
    """Makes the cases of all walks, or of this one, below top. Returns the number of finds."""
    steps = Steps(top)
    cases = finds = 0
    steps.start()
    for walk in [tuple(only[:3])] if only else WALKS:
        last = 0
        try:
            for n in [int(only[3])] if only[3:] else numbers(steps, walk, how, r):
                last = n
                if not steps.case(*walk, n):
                    break
                cases += 1
                if cases % 16 == 0:
                    steps.witness()
                    steps.again(walk[0])
            steps.witness()
        except Find as e:
            finds += 1
            print(f'find: {" ".join(walk)} {last}: {e}', flush=True)
            steps.fault.write(0, 0, 0)
            steps.server.stop()
            shutil.rmtree(os.path.join(top, 'new'), ignore_errors=True)
            shutil.rmtree(steps.folder, ignore_errors=True)
            steps.start()
        print(f'{" ".join(walk)}: to {last}', flush=True)
    print(f'{cases} faults: {finds} finds')
    return finds


def main():
    how, r = sys.argv[1], random.Random(sys.argv[2])
    only = os.environ.get('WH_FAULT', '').split()
    print(f'seed {sys.argv[2]}', flush=True)
    with folder_of_servers('d', 'new') as top:
        finds = walk_all(top, how, r, only)
    sys.exit(finds != 0)


if __name__ == '__main__':
    main()
