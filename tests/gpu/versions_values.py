# SPDX-License-Identifier: Apache-2.0
"""Prints the version that each library of the wheels says of itself, opened as programs do: by its path."""

import ctypes
import glob
import os
import sys

PROPERTIES = {'libcublas.so.13': 'cublas', 'libcublasLt.so.13': 'cublasLt', 'libcufft.so.12': 'cufft',
              'libcurand.so.10': 'curand', 'libcusolver.so.12': 'cusolver', 'libcusparse.so.12': 'cusparse',
              'libcusparseLt.so.0': 'cusparseLt', 'libcudnn.so.9': 'cudnn'}


def version(path, name):
    get = getattr(ctypes.CDLL(path), name + 'GetProperty')
    number = ctypes.c_int()
    parts = []
    for part in range(3):
        if get(part, ctypes.byref(number)):
            return 'none'
        parts.append(str(number.value))
    return '.'.join(parts)


def main():
    for place in sys.path:
        for path in sorted(glob.glob(place + '/nvidia/*/lib/lib*.so.*')):
            name = PROPERTIES.get(os.path.basename(path))
            if name:
                print(name, version(path, name), flush=True)


main()
