#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of many tenants compute while their server is upgraded again and again.

upgrade.py CLIENT WORMHOLE SERVER INSTALLED TENANTS

SERVER is the file that is copied to INSTALLED before each upgrade. The tenants t1, t2, ... are
there already. It prints one JSON object: what became of the programs, and of the upgrades.
"""
import json
import os
import shutil
import subprocess
import sys
import time

LAUNCHES, ROUNDS, LEAST = 4000, 20, 8
CLIENT, WORMHOLE, SERVER, INSTALLED = sys.argv[1:5]
TENANTS = [f't{n + 1}' for n in range(int(sys.argv[5]))]


def begin(tenant):
    words = ['alloc=4194304', 'ready', 'line'] + [f'launch={LAUNCHES}', 'copy=65536'] * ROUNDS + ['ready', 'wait']
    program = subprocess.Popen([WORMHOLE, 'run', '--tenant', tenant, '--', CLIENT] + words, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while program.stdout.readline() not in ('ready\n', ''):
        pass
    return program


def upgrade():
    """Installs the program as a package does, and tells the server. Returns the seconds it took."""
    shutil.copy(SERVER, INSTALLED + '.new')
    os.rename(INSTALLED + '.new', INSTALLED)
    began = time.monotonic()
    done = subprocess.run([WORMHOLE, 'reload'], check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'reload: {done.stderr}')
    return time.monotonic() - began


def stat():
    return {t['tenant']: t for t in json.loads(subprocess.check_output([WORMHOLE, 'stat', '--json']))}


def launches(counters):
    return [counters[t]['devices'][0]['launches'] for t in TENANTS]


def main():
    programs = [begin(t) for t in TENANTS]
    for p in programs:
        p.stdin.write('\n')
        p.stdin.flush()
    took, amid = [], 0
    while len(took) < LEAST or (len(took) < 40 and sum(launches(stat())) < len(TENANTS) * ROUNDS * LAUNCHES):
        before = sum(launches(stat()))
        took.append(upgrade())
        amid += 0 < before < len(TENANTS) * ROUNDS * LAUNCHES
    said = []
    for p in programs:
        lines = []
        while not lines or lines[-1] not in ('ready', ''):
            lines.append(p.stdout.readline().strip())
        said.append(lines)
    counters = stat()
    result = {
        'ok': sum(lines.count('ok') for lines in said), 'wanted': len(TENANTS) * ROUNDS * 2,
        'other': sorted({line for lines in said for line in lines} - {'ok', 'ready'}),
        'launches': sorted(set(launches(counters))), 'each': ROUNDS * LAUNCHES,
        'workers': sum(len(counters[t]['workers']) for t in TENANTS),
        'charged': min(counters[t]['devices'][0]['memory'] for t in TENANTS),
        'upgrades': len(took), 'amid': amid, 'median_ms': round(1000 * sorted(took)[len(took) // 2]),
    }
    for p in programs:
        p.stdin.close()
    result['ends'] = sorted({p.wait() for p in programs})
    print(json.dumps(result))


main()
