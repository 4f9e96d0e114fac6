# SPDX-License-Identifier: Apache-2.0
"""GPU-Virt-Bench (github.com/BudEcosystem/GPU-Virt-Bench), which needs a built bud_fcsp beside it

Its figures are measurements, so all numbers are free to change: what is compared is which of them
it makes and which it reports as failed.
"""
import os
import re
import shutil

from suite import without_colours

NATIVE_RUNS = 3
NUMBER = re.compile(r'[-+]?\d+(\.\d+)?(e[-+]?\d+)?%?')
CATEGORIES = 'overhead isolation llm bandwidth cache pcie nccl scheduling fragmentation error'.split()


def build(suite):
    suite.needs('nvcc', 'make')
    suite.has('src/main.c', 'name a checkout of GPU-Virt-Bench')
    suite.has('../bud_fcsp/src', 'its sources include headers of bud_fcsp and link its libvgpu.so, which is not in it')
    beside = os.path.join(suite.work, 'both')
    shutil.rmtree(beside, ignore_errors=True)
    ignore = shutil.ignore_patterns('.git', 'results', 'benchmarks')
    shutil.copytree(suite.source, beside + '/bench', ignore=ignore)
    os.symlink(os.path.realpath(os.path.join(suite.source, '..', 'bud_fcsp')), beside + '/bud_fcsp')
    suite.sh('make', '-C', beside + '/bench', f'-j{suite.jobs}', 'CUDA_ARCH=' + ' '.join(suite.code()))
    program = os.path.join(beside, 'bench', 'build', 'gpu-virt-bench')
    for c in CATEGORIES:
        suite.add_command(c, program, '--system', 'native', '--iterations', '10', '--warmup', '2', '--' + c)


def mask(line):
    return NUMBER.sub('#', without_colours(line))
