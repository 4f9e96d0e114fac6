#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copy a program and change one byte of it: the last one of a function, which a whole copy of the program names.

    alter.py WHOLE FUNCTION STRIPPED OUT
"""

import re
import shutil
import subprocess
import sys


def main():
    whole, function, stripped, out = sys.argv[1:]
    symbols = subprocess.run(['nm', '-S', whole], check=True, capture_output=True, text=True).stdout
    found = re.search(rf'^([0-9a-f]+) ([0-9a-f]+) [tT] {function}$', symbols, re.M)
    last = int(found[1], 16) + int(found[2], 16) - 1
    headers = subprocess.run(['readelf', '-lW', stripped], check=True, capture_output=True, text=True).stdout
    for offset, start, size in re.findall(r'LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)', headers):
        if 0 <= last - int(start, 16) < int(size, 16):
            at = last - int(start, 16) + int(offset, 16)
    shutil.copyfile(stripped, out)
    shutil.copymode(stripped, out)
    with open(out, 'r+b') as f:
        f.seek(at)
        byte, = f.read(1)
        f.seek(at)
        f.write(bytes([byte ^ 1]))


if __name__ == '__main__':
    main()
