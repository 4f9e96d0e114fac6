#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that cuTENSOR at work (tests/lib/tensor_gpu.c) gives the same natively and over
# shm, with NVIDIA's library behind both. Its wheel has it in cutensor/lib, which WH_GPU_LIBS names
# if python3 does not have the wheel.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
needs_programs "$WH_BUILD/tests/lib/bin/tensor_gpu"
[ "$world_kind" = gpu ] && has_library libcutensor.so.2 ||
	skip_all "no GPU with a libcutensor.so.2 on this machine"

steps 200 "$WH_BUILD/tests/lib/bin/tensor_gpu"
finish
