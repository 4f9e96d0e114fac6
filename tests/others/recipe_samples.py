# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's CUDA samples: a checkout of v13.0, or a folder that tests/gpu/build_samples.py has made

docs/frameworks.md says which of them cannot print the same, and why.
"""
import os
import shutil
import sys

from suite import NotBuilt

NATIVE_RUNS = 8
BUILDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'gpu', 'build_samples.py')


def build(suite):
    built = suite.source
    if os.path.exists(os.path.join(suite.source, 'test_args.json')):
        suite.needs('nvcc', 'cmake', 'ninja')
        built = os.path.join(suite.work, 'built')
        shutil.rmtree(built, ignore_errors=True)
        suite.sh(sys.executable, '-B', BUILDER, suite.source, os.path.join(suite.work, 'cmake'), built)
    for name in sorted(os.listdir(built)):
        folder = os.path.join(built, name)
        if name == 'lib' or any(os.path.exists(os.path.join(folder, name + s)) for s in ('', '-static')):
            os.symlink(folder, os.path.join(suite.out, name))
    if not os.listdir(suite.out):
        raise NotBuilt(f'{suite.source} is neither a checkout of the samples nor a folder of built ones')


def mask(line):
    return line
