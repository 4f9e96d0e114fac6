# SPDX-License-Identifier: Apache-2.0
"""Lupine's tests (github.com/lupinemachine/lupine, earlier kevmo314/scuda): test/*.cu and *.cpp

Each source is a program. It is built with the shared runtime, and as NAME-static with the static
one. Its includes say which libraries it is linked with.
"""
import glob
import os

from suite import NotBuilt

NATIVE_RUNS = 4
LIBRARIES = {'cublas_v2.h': '-lcublas', 'cudnn.h': '-lcudnn', 'cuda.h': '-lcuda', 'nvml.h': '-lnvidia-ml'}


def build(suite):
    suite.needs('nvcc')
    suite.has('test', "name Lupine's checkout")
    found = sorted(p for e in ('cu', 'cpp') for p in glob.glob(os.path.join(suite.source, 'test', '*.' + e)))
    if not found:
        raise NotBuilt(f'{suite.source}/test has no *.cu')
    for source in found:
        name = os.path.splitext(os.path.basename(source))[0]
        if suite.wanted(name):
            build_one(suite, source, name)


def build_one(suite, source, name):
    folder = os.path.join(suite.out, name)
    os.makedirs(folder)
    with open(source) as f:
        text = f.read()
    libraries = [flag for header, flag in LIBRARIES.items() if f'<{header}>' in text]
    for kind, suffix in ('shared', ''), ('static', '-static'):
        try:
            suite.sh('nvcc', '-w', *suite.code(), f'-cudart={kind}', '-o', f'{folder}/{name}{suffix}', source,
                     *libraries)
        except NotBuilt as e:
            suite.left_out.append(f'{name}{suffix} is not built: {e}')


def mask(line):
    return line


def failure(lines):
    # These tests do not look at the statuses of cuDNN, which softgpu has no stand-in for.
    before, after = ([line.split(': ')[1] for line in lines if line.startswith(w + ' array: ')]
                     for w in ('Original', 'New'))
    return 'the array is as it was' if before and before == after else None
