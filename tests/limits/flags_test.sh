#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that no forwarded function which takes device memory or launches lacks its
# flag in cuda.api. A new function fails here until somebody has decided.
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
exec /usr/bin/python3 -B - "$WH_TOP/cuda-api" <<'PY'
import os
import re
import sys

sys.path.insert(0, sys.argv[1])
import describe  # noqa: E402

TAKES = re.compile(r'^cu(Mem|Array|Array3D|MipmappedArray)\w*(Alloc|Create)|^cuModuleLoad|^cuLibraryLoad|'
                   r'^cuCtxCreate|^cuDevicePrimaryCtxRetain|^cuCtxSetLimit|^cuGraphInstantiate')
LAUNCHES = re.compile(r'^cu(Launch(?!HostFunc)|GraphLaunch)|^whLaunch')
FREES = re.compile(r'^cu(MemFree|ArrayDestroy|MipmappedArrayDestroy|MemRelease|MemPoolDestroy|ModuleUnload|LibraryUnload)')
# These functions take no device memory: they ask about it, or use host memory.
NONE = {'cuMemGetAllocationGranularity', 'cuMemGetAllocationPropertiesFromHandle', 'cuMemRetainAllocationHandle'}
CHARGE = {'charge', 'pool', 'reconcile', 'exec', 'context'}
d = describe.Describer(os.path.join(sys.argv[1], 'cuda.api'))
calls = [c for c in d.api().calls.values() if c.forwarded and not c.suffix and c.name not in NONE]
calls += [c for c in d.api().calls.values() if c.name == 'whLaunch']
points = [
    ('every_way_to_take_memory_is_charged', TAKES, CHARGE),
    ('every_launch_is_held', LAUNCHES, {'launch'}),
    ('every_way_to_free_gives_back', FREES, {'uncharge'}),
]
print('TAP version 13\n1..3')
for i, (name, pattern, flags) in enumerate(points, 1):
    bad = [c.name for c in calls if pattern.search(c.name) and not flags & set(c.hooks) and c.verb != 'local']
    some = [c for c in calls if pattern.search(c.name)]
    print(f'{"not ok" if bad or len(some) < 3 else "ok"} {i} - {name}')
    for b in bad:
        print(f'# {b}')
PY
