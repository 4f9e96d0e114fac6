#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the functions whose shape in CUDA 12 or 11 is another than cuda-api/runtime_12.txt and runtime_11.txt say.

    shapes.py MAJOR INCLUDE_OF_MAJOR INCLUDE_13

The shape is the argument list, with all structs, unions and enumerations that it leads to. A
member that 13 added within a size that stayed the same is no difference.
"""

import os
import sys

TOP = os.environ.get('WH_TOP') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
sys.path.insert(0, os.path.join(TOP, 'cuda-api'))
import headers  # noqa: E402
import gen_runtime  # noqa: E402
import runtime_older  # noqa: E402

SOURCE = '#include <cuda_runtime_api.h>\n#include <cuda_profiler_api.h>\n'


class Shapes:
    def __init__(self, old, new):
        self.old, self.new = old, new
        self.asked = {}

    def fits(self, a, b):
        """May a pointer to what the older one calls `a` be taken for one to 13's `b`?"""
        if a.kind != b.kind or a.size != b.size:
            return False
        if a.kind == 'enum':
            return self.same_numbers(a, b)
        if a.kind in ('pointer', 'array'):
            return a.count == b.count and self.fits(a.pointee, b.pointee)
        if a.kind not in ('record', 'union'):
            return True
        key = (a.canonical, b.canonical)
        if key not in self.asked:
            self.asked[key] = True      # a struct that leads to itself
            self.asked[key] = self.same_fields(a, b)
        return self.asked[key]

    def same_fields(self, a, b):
        of_b = {f.name: f for f in b.fields}
        for f in a.fields:
            g = of_b.get(f.name)
            if f.name.startswith('reserved') or f.name.startswith('pad'):
                continue
            if not g or g.offset != f.offset or not self.fits(f.type, g.type):
                return False
        return True

    def same_numbers(self, a, b):
        name = a.canonical.replace('enum ', '').replace('const ', '')
        old, new = self.old.enums.get(name), self.new.enums.get(name)
        return old is None or all(new.get(k, v) == v for k, v in old.items() if not k.endswith(('Max', 'Count')))

    def same(self, f, g):
        return self.fits(f.result, g.result) and len(f.params) == len(g.params) and \
            all(self.fits(p.type, q.type) for p, q in zip(f.params, g.params))


def main():
    internal = ['__CUDA_API_VERSION_INTERNAL']
    major, include, os.environ['CUDA_INC'] = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    new = headers.parse(SOURCE, defines=internal)
    old = headers.parse(SOURCE, defines=internal, includes=[include])
    calls = gen_runtime.read_calls()
    differ = runtime_older.read_differences(major)
    shapes = Shapes(old, new)
    for name, f in sorted(old.functions.items()):
        how, detail, _ = differ.get(name, ('', '', 13))
        in_13 = detail if how == 'was' else name
        if how in ('hand', 'refused', 'same') or calls.get(in_13, ('',))[0] == 'refused':
            continue
        if in_13 not in new.functions or not shapes.same(f, new.functions[in_13]):
            print(f'{name} has another shape than {in_13} of 13')
    for name, (how, *_) in differ.items():
        if how in ('hand', 'same') and name in old.functions and name in new.functions and \
                shapes.same(old.functions[name], new.functions[name]):
            print(f'{name} has the same shape in 13')
    print(f'compared {len(old.functions)}')


if __name__ == '__main__':
    main()
