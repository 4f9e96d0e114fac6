# SPDX-License-Identifier: Apache-2.0
"""Prints points, each of a name, what there is and what is expected, as TAP."""


def finish(points):
    """Ends the program; its exit status says whether all are as expected."""
    print(f'TAP version 13\n1..{len(points)}')
    for n, (name, got, expected) in enumerate(points, 1):
        print(f'{"ok" if got == expected else "not ok"} {n} - {name}')
        if got != expected:
            print(f'# expected: {expected}\n# got:      {got}')
    raise SystemExit(any(got != expected for _, got, expected in points))
