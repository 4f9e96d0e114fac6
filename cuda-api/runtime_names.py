#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the names that NVIDIA's CUDA runtimes before 13 export, with the versions that have each.

    runtime_names.py VERSION=LIBCUDART... > runtime_names.txt

Each LIBCUDART is the libcudart.so of one version, from NVIDIA's packages on PyPI
(nvidia-cuda-runtime-cu11, nvidia-cuda-runtime-cu12, nvidia-cuda-runtime), that of 11.2 from Debian 11; the static
library has the same names. Names of CUDA 13 alone stand in runtime_calls.txt.
"""

import re
import subprocess
import sys

HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
# Made by runtime_names.py from the exports of NVIDIA's libraries. The line "versions" has every
# version of CUDA whose runtime was read. All others are names of runtimes before 13: the name, and
# the first and the last version before 13 that has it. runtime_calls.txt says which are in 13.
'''


def exports(path):
    text = subprocess.run(['nm', '-D', '--defined-only', path], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r' [TW] ((?:__)?cuda\w+)', text))


def main():
    names = {version: exports(path) for version, path in (a.split('=', 1) for a in sys.argv[1:])}
    old = [v for v in names if int(v.split('.')[0]) < 13]
    sys.stdout.write(HEAD + 'versions ' + ' '.join(names) + '\n')
    for name in sorted(set().union(*(names[v] for v in old))):
        has = [v for v in old if name in names[v]]
        if old[old.index(has[0]):old.index(has[-1]) + 1] != has:
            raise SystemExit(f'runtime_names.py: {name} went and came again')
        print(f'{name:<55} {has[0]:<5} {has[-1]}')


if __name__ == '__main__':
    main()
