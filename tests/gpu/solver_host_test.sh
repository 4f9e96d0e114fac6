#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that cuSOLVER's functions on matrices in host memory
# (tests/lib/cusolver_gpu.c) print the same natively and over shm, with NVIDIA's library behind
# both; over loopback they do not exist.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
program=$WH_BUILD/tests/lib/bin/cusolver_gpu
needs_programs "$program"
[ "$world_kind" = gpu ] && has_library libcusolver.so.12 ||
	skip_all "no GPU with a libcusolver.so.12 on this machine"

run() { # WORLD
	in_world "$1" shared timeout 200 "$program" >"$world_dir/$1" 2>"$world_dir/$1.err" && return 0
	tail -n 5 "$world_dir/$1.err" | sed 's/^/# /'
	return 1
}

same() {
	diff "$world_dir/native" "$world_dir/shm" >"$world_dir/diff" && return 0
	sed 's/^/# /' "$world_dir/diff" | head -n 30
	return 1
}

solves() { # STEP
	grep -q "^$1: residual is small" "$world_dir/native"
}

plan 6
ok matrices_in_host_memory_are_solved_natively run native
ok by_lu_of_the_low_level solves lu
ok and_by_its_qr solves qr
ok and_over_shm run shm
ok with_the_same_results_to_the_last_bit same
ok a_refactorization_is_set_up_by_these grep -q '^rf setup: 0' "$world_dir/shm"
finish
