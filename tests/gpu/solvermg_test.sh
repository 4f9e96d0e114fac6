#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that cuSOLVERMg at work (tests/lib/solvermg_gpu.c) gives the same natively and
# over shm, with NVIDIA's library behind both: on one GPU, and on two where there are two.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
needs_programs "$WH_BUILD/tests/lib/bin/solvermg_gpu"
[ "$world_kind" = gpu ] && has_library libcusolverMg.so.12 ||
	skip_all "no GPU with a libcusolverMg.so.12 on this machine"

steps 200 "$WH_BUILD/tests/lib/bin/solvermg_gpu"
finish
