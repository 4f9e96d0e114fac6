# SPDX-License-Identifier: Apache-2.0
"""Prints the version that each library of the wheels says of itself, opened as programs do: by its path."""

import ctypes
import glob
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../cuda-api'))
import heads  # noqa: E402

PREFIXES = {p.soname: p.prefix for p in heads.forwarded()}


def version(path, name):
    get = getattr(ctypes.CDLL(path), name + 'GetProperty', None)
    number = ctypes.c_int()
    parts = []
    for part in range(3):
        if not get or get(part, ctypes.byref(number)):
            return 'none'
        parts.append(str(number.value))
    return '.'.join(parts)


def main():
    for place in sys.path:
        for path in sorted(glob.glob(place + '/nvidia/*/lib/lib*.so.*')):
            name = PREFIXES.get(os.path.basename(path))
            if name:
                print(name, version(path, name), flush=True)


main()
