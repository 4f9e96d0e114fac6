# SPDX-License-Identifier: Apache-2.0
"""TAP points of the tests beside it."""
number = 0


def ok(good, name, got=None):
    """A point; what was got is said where it is not good."""
    global number
    number += 1
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good:
        print(f"# got {got}")
