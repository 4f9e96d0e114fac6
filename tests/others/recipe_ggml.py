# SPDX-License-Identifier: Apache-2.0
"""ggml's test-backend-ops (github.com/ggml-org/ggml or llama.cpp), CUDA backend: a test is an operation

Its inputs are random, so the error of a case that fails is free to change. WH_GGML_CMAKE has
options for cmake. Over softgpu flash attention is left out: its kernels take most of the build.
"""
import os
import re
import shlex

from suite import NotBuilt, without_colours

NATIVE_RUNS = 3
ERROR = re.compile(r'(\w+ (=|>) )[-+.e\dinfa]+')
# In these lines a device says what is free now.
MEMORY = re.compile(r'\(\d+ MiB free\)|\(\d+ MB free\)|VRAM: \d+')


def build(suite):
    suite.needs('nvcc', 'cmake', 'ninja')
    suite.has('tests/test-backend-ops.cpp', 'name a checkout of ggml or llama.cpp')
    arch = f'{suite.arch}-virtual' if suite.backend == 'softgpu' else suite.arch
    options = [f'-DCMAKE_CUDA_ARCHITECTURES={arch}', '-DCMAKE_BUILD_TYPE=Release']
    options += [f'-D{o}=ON' for o in ('GGML_CUDA', 'GGML_BUILD_TESTS', 'LLAMA_BUILD_TESTS')]
    options += [f'-D{o}=OFF' for o in ('GGML_NATIVE', 'GGML_CUDA_NCCL', 'LLAMA_CURL')]
    if suite.backend == 'softgpu':
        options.append('-DGGML_CUDA_FA=OFF')
    made = os.path.join(suite.work, 'build')
    suite.sh('cmake', '-G', 'Ninja', '-S', suite.source, '-B', made, *options,
             *shlex.split(os.environ.get('WH_GGML_CMAKE', '')))
    suite.sh('ninja', '-C', made, f'-j{suite.jobs}', 'test-backend-ops')
    program = os.path.join(made, 'bin', 'test-backend-ops')
    said = suite.sh(program, '--list-ops', env=suite.worlds.native)
    operations = re.findall(r'^  (\w+)$', said, re.M)
    if not operations:
        raise NotBuilt(f'{program} --list-ops names none: {said[-200:]}')
    for op in operations:
        suite.add_command(op, program, 'test', '-b', 'CUDA0', '-o', op)


def mask(line):
    return ERROR.sub(r'\1#', MEMORY.sub('#', without_colours(line)))


def passed(line):
    case = re.search(r'^\w+\(.*\): .*\b(OK|FAIL)$', line)
    return case and case[1] == 'OK'
