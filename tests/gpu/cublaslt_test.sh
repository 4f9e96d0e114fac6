#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that cublasLt at work (tests/lib/cublaslt_gpu.c), with its descriptors'
# defaults and sizes, and cublasXt (tests/lib/cublasxt_gpu.c) give the same natively and
# forwarded, with this machine's NVIDIA libraries behind both.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
needs_programs "$WH_BUILD/tests/lib/bin/cublaslt_gpu"
[ "$world_kind" = gpu ] && has_library libcublasLt.so.13 ||
	skip_all "no GPU with a libcublasLt.so.13 on this machine"
plan 6
same_everywhere cublaslt shared 60 "$WH_BUILD/tests/lib/bin/cublaslt_gpu"
same_everywhere cublasxt shared 60 "$WH_BUILD/tests/lib/bin/cublasxt_gpu"
finish
