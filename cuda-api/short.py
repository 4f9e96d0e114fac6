# SPDX-License-Identifier: Apache-2.0
"""Types that older programs have fewer bytes of: no more is read or written, and all members that there are fit."""

# Bytes before CUDA 11.8.
SIZES = {'CUstreamAttrValue': 32, 'CUkernelNodeAttrValue': 32}


def pack(a, null):
    """Returns statements that put the argument into the request, or None; `null` are those if it is NULL."""
    size = SIZES.get(a.object.bare)
    return size and [f'memset(&q->{a.name}, 0, sizeof(q->{a.name}));', *null, 'else',
                     f'\tmemcpy(&q->{a.name}, {a.name}, {size});']


def unpack(a):
    """Returns statements that take it from the response, or None."""
    size = SIZES.get(a.object.bare)
    return size and [f'if ({a.name})', f'\tmemcpy({a.name}, &r->{a.name}, {size});']
