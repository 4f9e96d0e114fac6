# SPDX-License-Identifier: Apache-2.0
"""The *_values.py share this file. It runs tests in the order of their definition and prints a line
for each: its name, and its values, or the error that it met."""
import contextlib
import hashlib
import os
import sys

import numpy as np

TESTS = []


def test(f):
    TESTS.append(f)
    return f


def bits_of(arrays):
    """Returns a sum of the arrays' types, shapes and bits."""
    h = hashlib.sha256()
    for a in arrays:
        a = np.ascontiguousarray(a)
        h.update(str((a.dtype, a.shape)).encode() + a.tobytes())
    return h.hexdigest()[:16]


def rough_of(arrays):
    """Returns sums to four digits, for values that are added in any order."""
    return " ".join(f"{np.abs(np.asarray(a, dtype=np.float64)).sum():.4g}" for a in arrays)


def main(before=lambda: None):
    words = sys.argv[1:]
    for f in TESTS:
        if words and not any(w in f.__name__ for w in words):
            continue
        before()
        try:
            with contextlib.redirect_stdout(sys.stderr):
                said = f()
        except Exception as e:      # each reports its error, and the next one goes on
            said = "FAILS " + type(e).__name__ + ": " + (str(e).splitlines() or [""])[0][:150]
        # The line is written by one system call, because ranks of one program write into one file.
        os.write(sys.stdout.fileno(), f"{f.__name__} {said}\n".encode())
