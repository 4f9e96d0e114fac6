#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that nvJPEG and NPP at work (tests/lib/images_gpu.c) give the same natively and
# forwarded, with this machine's NVIDIA libraries behind both.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
needs_programs "$WH_BUILD/tests/lib/bin/images_gpu"
[ "$world_kind" = gpu ] && has_library libnvjpeg.so.13 && has_library libnppc.so.13 ||
	skip_all "no GPU with a libnvjpeg.so.13 and a libnppc.so.13 on this machine"
plan 4
same_everywhere images shared 60 "$WH_BUILD/tests/lib/bin/images_gpu"
ok a_picture_is_decoded grep -q "^decoded: 0 " "$world_dir/native"
finish
