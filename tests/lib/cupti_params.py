#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cupti_params.py WHAT CUPTI_HEADERS GEN: compares what is watched with CUPTI's headers, and prints what differs.

WHAT is `driver` or `runtime` (the arguments), or one of both with `-numbers` (the functions).
"""

import re
import sys

import headers

RUNTIME = '#include <cuda_runtime_api.h>\n#include <cuda_profiler_api.h>\n'
# What is watched: the list of it, the prototypes, the structs of arguments, how many of these there are at least.
APIS = {'driver': ('gen_watched.txt', headers.driver_source(), '#include <generated_cuda_meta.h>\n', 500),
        'runtime': ('gen_cudart_watched.txt', RUNTIME, '#include <generated_cuda_runtime_api_meta.h>\n', 250)}


def newest(names):
    """Returns {function: its newest name with a version}."""
    out = {}
    for name in names:
        base, version = re.match(r'(\w+)_v(\d+)$', name).groups()
        if int(version) > int(out.get(base, '_v0').rsplit('_v', 1)[1]):
            out[base] = name
    return out


def numbered(inc, api):
    """Returns {function: its name in CUPTI}."""
    with open(f'{inc}/cupti_{api}_cbid.h', encoding='utf-8') as f:
        names = re.findall(rf'CUPTI_{api.upper()}_TRACE_CBID_(c\w+) *=', f.read())
    return {n: n for n in names} if api == 'driver' else newest(names)


def otherwise(hdr, watched, names):
    """Returns how many functions have a struct of arguments, and those whose arguments are others."""
    known = [n for n in watched if n in hdr.functions and f'{names.get(n, n)}_params' in hdr.records]
    return len(known), [n for n in known if [p.type.size for p in hdr.functions[n].params] !=
                        [f.type.size for f in hdr.records[f'{names.get(n, n)}_params'].fields]]


def main(what, inc, gen):
    api = what.split('-')[0]
    file, source, structs, least = APIS[api]
    with open(f'{gen}/{file}', encoding='utf-8') as f:
        watched = [line.split()[0] for line in f]
    names = numbered(inc, api)
    if what.endswith('numbers'):
        functions = headers.parse(source).functions
        missing = sorted(n for n in names if n in functions and n not in watched
                         and functions[n].result.spelling in ('CUresult', 'cudaError_t'))
        print(*missing, sep='\n', end='')
        return not functions
    count, other = otherwise(headers.parse(source + structs, includes=[inc]), watched, names)
    print(*other, sep='\n', end='')
    return count < least


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
