# SPDX-License-Identifier: Apache-2.0
"""Recipes of suites that pytest runs share this file. A test of ours is one file of theirs. Its
output has one line for each of their tests, so those that fail natively hide no other."""
import os
import re
import subprocess

from suite import NotBuilt

OUTCOME = re.compile(r'^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b')


def needs_modules(suite, *modules):
    for m in modules:
        said = subprocess.run([suite.python, '-c', f'import {m}'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env=suite.worlds.native)
        if said.returncode:
            last = said.stdout.strip().splitlines()[-1:]
            raise NotBuilt(f'{suite.python} cannot import {m} ({"".join(last)}); name another one by --python')


def add_files(suite, root, files):
    """Takes files below the suite's folder root as tests."""
    base = os.path.join(suite.source, root)
    for f in files:
        suite.has(os.path.join(root, f), 'the suite may have moved it')
        name = os.path.splitext(f)[0].replace('/', '.')
        suite.add_command(name, suite.python, '-B', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--tb=no',
                          '-rfEsxXp', '--rootdir', base, '-W', 'ignore', os.path.join(base, f))


def mask(line):
    """Leaves one line for each of their tests: its outcome and name, without a message."""
    return line.split(' - ')[0] if OUTCOME.match(line) else None


def passed(line):
    return {'PASSED': True, 'XPASS': True, 'FAILED': False, 'ERROR': False}.get(line.split()[0])
