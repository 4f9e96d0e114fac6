#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that nvJPEG and NPP at work (tests/lib/images_gpu.c) give the same natively and
# over shm, with this machine's NVIDIA libraries behind both. Over loopback NVIDIA's nvJPEG crashes.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
needs_programs "$WH_BUILD/tests/lib/bin/images_gpu"
[ "$world_kind" = gpu ] && has_library libnvjpeg.so.13 && has_library libnppc.so.13 ||
	skip_all "no GPU with a libnvjpeg.so.13 and a libnppc.so.13 on this machine"

images() { # WORLD
	in_world "$1" shared timeout 60 "$WH_BUILD/tests/lib/bin/images_gpu" >"$world_dir/$1" 2>"$world_dir/$1.err" ||
		{ tail -n 3 "$world_dir/$1.err"; false; }
}

plan 4
ok images_are_made_natively images native
ok and_over_shm images shm
ok the_same diff "$world_dir/native" "$world_dir/shm"
ok a_picture_is_decoded grep -q "^decoded: 0 " "$world_dir/native"
finish
