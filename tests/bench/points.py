# SPDX-License-Identifier: Apache-2.0
"""Prints the TAP points of the tests beside this file."""
number = 0


def ok(good, name, got=None):
    """Prints a point; if it is not good, also prints what the test got."""
    global number
    number += 1
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good:
        print(f"# got {got}")
