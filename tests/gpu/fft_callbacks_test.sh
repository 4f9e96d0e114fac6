#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that transforms with callbacks (tests/lib/fft_callbacks_gpu.c) give the same
# natively and over shm, with NVIDIA's cuFFT behind both. NVRTC compiles the callbacks' code.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
program=$WH_BUILD/tests/lib/bin/fft_callbacks_gpu
needs_programs "$program"
[ "$world_kind" = gpu ] && has_library libcufft.so.12 || skip_all "no GPU with a libcufft.so.12 on this machine"
has_library libnvrtc.so.13 && has_library libnvJitLink.so.13 ||
	skip_all "no libnvrtc.so.13 that compiles callbacks, or no libnvJitLink.so.13 that links them"
in_world native shared "$program" compile libnvrtc.so.13 "$world_dir/code" 2>"$world_dir/compile.err" ||
	skip_all "no code of callbacks: $(tail -n 3 "$world_dir/compile.err")"

steps 200 "$program" "$world_dir/code"
finish
