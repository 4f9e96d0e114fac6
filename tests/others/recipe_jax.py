# SPDX-License-Identifier: Apache-2.0
"""a part of JAX's own tests: a checkout (github.com/jax-ml/jax) of the version of the wheel in --python

XLA loads machine code alone, so over softgpu each of them fails natively too.
"""
import pytests

NATIVE_RUNS = 3
FILES = ('api_test.py', 'lax_test.py', 'lax_numpy_test.py', 'lax_numpy_reducers_test.py', 'linalg_test.py',
         'fft_test.py', 'random_test.py', 'nn_test.py', 'memories_test.py')


def build(suite):
    pytests.needs_modules(suite, 'pytest', 'jax', 'absl')
    # Few random cases of each, and memory as it is asked for, since two processes share the device.
    suite.env.update(JAX_NUM_GENERATED_CASES='5', XLA_PYTHON_CLIENT_PREALLOCATE='false', JAX_PLATFORMS='cuda')
    pytests.add_files(suite, 'tests', FILES)


mask, passed = pytests.mask, pytests.passed
