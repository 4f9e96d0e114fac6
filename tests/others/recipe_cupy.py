# SPDX-License-Identifier: Apache-2.0
"""a part of CuPy's own tests: a checkout (github.com/cupy/cupy) of the version of the wheel in --python"""
import pytests

NATIVE_RUNS = 3
FILES = ('core_tests/test_ndarray.py', 'core_tests/test_ndarray_elementwise_op.py', 'core_tests/test_elementwise.py',
         'core_tests/test_reduction.py', 'core_tests/test_raw.py', 'cuda_tests/test_memory.py',
         'cuda_tests/test_stream.py', 'cuda_tests/test_device.py', 'cuda_tests/test_graph.py',
         'linalg_tests/test_product.py', 'fft_tests/test_fft.py', 'random_tests/test_generator.py')


def build(suite):
    pytests.needs_modules(suite, 'pytest', 'cupy')
    if suite.backend == 'softgpu':
        suite.env['CUPY_TEST_GPU_LIMIT'] = '1'  # softgpu is one device
    pytests.add_files(suite, 'tests/cupy_tests', FILES)


mask, passed = pytests.mask, pytests.passed
