#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a table of all calls that are forwarded, from the descriptions.

Usage: gen_requests.py CUDA-API-FOLDER OUTPUT.h

Each call gets one request that is right as far as a description can say: all numbers are 1, each
array has one element, and the handles are living ones. addresses_test.c puts the worker's own
memory into each ADDRESS, devices_test.c another tenant's device into each ORDINAL, and
fuzz_protocol.c makes any one field wrong.
"""

import os
import sys

sys.path.insert(0, sys.argv[1])
import describe  # noqa: E402

LIBRARIES = ('cublas', 'cudnn', 'cufft', 'cusparse', 'cusolver', 'cusparselt', 'curand', 'nccl', 'nvml')
# Numbers, by type, for types to which 1 would not fit.
WORDS = {'CUmemorytype': 'CU_MEMORYTYPE_UNIFIED', 'CUstreamBatchMemOpType': 'CU_STREAM_MEM_OP_WRITE_VALUE_32',
         'CUresourcetype': 'CU_RESOURCE_TYPE_LINEAR'}


class Request:
    """The fields of one call's request: (offset, bytes, what, value)."""

    def __init__(self, d, call):
        self.d, self.call, self.fields = d, call, []
        self.end = f'FIXED(struct wh_req_{call.name})'
        for a in call.args:
            self.argument(a)

    def add(self, at, size, what, value='0'):
        self.fields.append((at, size, what, value))

    def argument(self, a):
        at = f'offsetof(struct wh_req_{self.call.name}, {a.name})'
        if a.mode:
            self.add(at, 8, 'ADDRESS')
        elif a.kind == 'object':
            self.add(at, 8, 'OBJECT', f'WH_H_{a.type.bare}')
        elif a.kind == 'opaque':
            self.add(at, 8, 'BOX', f'WH_H_{a.object.bare}')
        elif a.reach:
            self.add(at, a.type.size if a.type.kind == 'int' else 8, 'ADDRESS' if a.reach == 'device' else 'WORD', '1')
        elif a.kind == 'handle':
            self.handle(at, a.type)
        elif a.kind == 'host':
            self.add(at, 8, 'HOST')
        elif a.kind == 'str':
            self.add(f'offsetof(struct wh_req_{self.call.name}, {a.name}_size)', 8, 'WORD', 'sizeof(TEXT_SENT)')
            self.add(self.end, 16, 'TEXT')
            self.end += ' + PADDED(sizeof(TEXT_SENT))'
        elif a.kind in ('scalar', 'value'):
            self.value(at, a.type)
        elif a.kind in ('in', 'inout') and a.array:
            # A struct of NVML says its own size, in bytes and in its first field.
            whole = a.sized and a.object.kind == 'record'
            if a.count.startswith('?'):
                self.add(f'offsetof(struct wh_req_{self.call.name}, {a.name}_count)', 8, 'WORD',
                         f'sizeof({a.object.bare})' if whole else '1')
            if a.object.kind != 'void':
                self.value(self.end, a.object, 'each' in self.call.hooks and self.call.hooks['each'][0] == a.name)
            if whole:
                self.add(self.end, 4, 'WORD', f'sizeof({a.object.bare}) | 1 << 24')
            size = '1' if a.object.kind == 'void' or a.sized and not whole else f'sizeof({a.object.bare})'
            self.end += f' + PADDED({size})'
        elif a.kind in ('in', 'inout'):
            self.value(at, a.object)

    def handle(self, at, ctype):
        # A stream of 0 is the default stream.
        if not self.d.is_stream(ctype):
            self.add(at, 8, 'HANDLE', f'WH_H_{self.d.handle_name(ctype)}')

    def value(self, at, ctype, address=False):
        if ctype.bare in describe.ADDRESSES:
            self.add(at, ctype.size, 'ADDRESS')
        elif self.d.handle_name(ctype):
            self.handle(at, ctype)
        elif ctype.bare == 'CUdevice':
            self.add(at, ctype.size, 'ORDINAL', '1')
        elif ctype.bare in WORDS:
            self.add(at, ctype.size, 'WORD', WORDS[ctype.bare])
        elif ctype.kind in ('int', 'enum') and ctype.size <= 8:
            self.add(at, ctype.size, 'WORD', '1')
        elif ctype.kind in ('record', 'union'):
            self.record(at, ctype)

    def record(self, at, ctype):
        """Adds the fields of a struct; of a union it adds the first member with an address, as the
        struct's type says."""
        for f in ctype.fields:
            if ctype.kind == 'union' and f.type.kind in ('record', 'union') and not describe.holds_address(f.type):
                continue
            here = f'{at} + {f.offset}'
            if ctype.bare == 'CUmemLocation' and f.name == 'id':
                self.add(here, f.type.size, 'ORDINAL', '1')
            elif f.type.kind in ('record', 'union'):
                self.record(here, f.type)
                if ctype.kind == 'union':
                    return
            elif f.name != 'alias' and not f.name.startswith(('reserved', 'pad', 'flags')):
                self.value(here, f.type)


def calls_of(d):
    found = []
    for call in d.api().calls.values():
        if call.forwarded and not call.suffix and call.func is not None:
            found.append(Request(d, call))
    return sorted(found, key=lambda r: r.call.name)


def main():
    folder, out = sys.argv[1:]
    text = '/* Generated by tests/attack/gen_requests.py. Do not edit. */\n'
    rows = ''
    for name in ('cuda',) + LIBRARIES:
        d = describe.Describer(os.path.join(folder, name + '.api'))
        number = 0 if name == 'cuda' else f'WH_LIB_{name}'
        for r in calls_of(d):
            c = r.call.name
            fields = ''.join(f'\t{{ {at}, {size}, {what}, {value} }},\n' for at, size, what, value in r.fields)
            fields = fields or '\t{ 0, 0, WORD, 0 },\n'
            text += f'static const struct field fields_{c}[] = {{\n{fields}}};\n'
            rows += f'\t{{ "{c}", {number}, WH_CALL_{c}, {r.end}, fields_{c}, {len(r.fields)} }},\n'
    text += f'\nstatic const struct call calls[] = {{\n{rows}}};\n'
    with open(out, 'w', encoding='utf-8') as f:
        f.write(text)


if __name__ == '__main__':
    main()
