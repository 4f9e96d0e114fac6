#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that every call of cuBLAS and cuRAND that tests/lib/genuine_test.sh makes
# gives the same bits natively and forwarded, with this machine's NVIDIA libraries.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
world_stop_server
test=$WH_BUILD/tests/lib/genuine_test.t
[ -x "$test" ] || test=$WH_BUILD/tests/lib/genuine.t
needs_programs "$test"
[ -e "$WH_BUILD/softgpu/libcuda.so.1" ] ||
	skip_all "no softgpu in this build, over which the first points run"
folder=$(find_library libcublas.so.13) ||
	skip_all "no libcublas.so.13 on this machine"
CUDA_LIB=$folder WH_GPU_DRIVER=$driver LD_LIBRARY_PATH=$native_path "$test"
