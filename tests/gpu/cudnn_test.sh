#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that cuDNN at work (tests/lib/cudnn_gpu.c) gives the same sums natively and
# forwarded, with this machine's NVIDIA library behind both.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
prog=$WH_BUILD/tests/lib/bin/cudnn_gpu
needs_programs "$prog"
[ "$world_kind" = gpu ] && has_library libcudnn.so.9 ||
	skip_all "no GPU with a libcudnn.so.9 on this machine"
plan 3
same_everywhere cudnn shared 60 "$prog"
finish
