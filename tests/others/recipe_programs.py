# SPDX-License-Identifier: Apache-2.0
"""any folder of built programs: each executable file is a test"""
import os

from suite import NotBuilt

NATIVE_RUNS = 4


def build(suite):
    found = [n for n in sorted(os.listdir(suite.source))
             if os.path.isfile(os.path.join(suite.source, n)) and os.access(os.path.join(suite.source, n), os.X_OK)]
    if not found:
        raise NotBuilt(f'{suite.source} has no executable file')
    for name in found:
        suite.add(name, os.path.join(suite.source, name))


def mask(line):
    return line
