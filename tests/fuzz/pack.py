#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Puts many small inputs into one file: one in a line, in base64, the shortest first.

Usage: pack.py FOLDER FILE      the folder's files into the file
       pack.py -x FILE FOLDER   the file's lines into the folder, each named by its number
"""

import base64
import os
import sys


def pack(folder, name):
    inputs = []
    for entry in os.scandir(folder):
        with open(entry.path, 'rb') as f:
            inputs.append(f.read())
    inputs.sort(key=lambda data: (len(data), data))
    with open(name, 'wb') as f:
        for data in inputs:
            f.write(base64.b64encode(data) + b'\n')


def unpack(name, folder):
    os.makedirs(folder, exist_ok=True)
    with open(name, 'rb') as f:
        for number, line in enumerate(f):
            with open(os.path.join(folder, f'{number:04}'), 'wb') as out:
                out.write(base64.b64decode(line))


if __name__ == '__main__':
    if sys.argv[1] == '-x':
        unpack(*sys.argv[2:])
    else:
        pack(*sys.argv[1:])
