#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the top Makefile would do (make -n): who shares jobs with whom, and that
# `make shm` and `make demo` build only what they need.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL

would() { make -n -C "$WH_TOP" O="$WH_BUILD" "$@" 2>&1; }
has() { echo "$1" | grep -q -e "$2"; }

tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
plan 12
out=$(would -j2 all)
is all_can_be_planned $? 0
# Only a make that knows another one below runs it under -n, and gives it jobs.
ok folders_are_given_jobs has "$out" '-C cublas'
is nobody_is_left_without_jobs "$(echo "$out" | grep -c jobserver)" 0
out=$(would shm)
is shm_can_be_planned $? 0
ok shm_builds_the_server has "$out" '-C server$'
is shm_needs_no_kernel_no_image_no_test \
	"$(echo "$out" | grep -E -e 'build-kernel|bochs|mkinitramfs|-C tests' | head -n 3)" ""

out=$(would -j2 demo)
is demo_can_be_planned $? 0
ok demo_builds_kvms_modules_and_bochs has "$out" 'get-bochs.sh'
is demo_needs_no_kernel_no_other_test "$(echo "$out" |
	grep -E -e 'build-kernel' -e '-C [^ ]*tests/(kernel|lib|cudart|shm)' | head -n 3)" ""
ok demo_fetches_no_library_for_its_headers has "$out" 'install-deps.sh demo$'
# Of all files that its worker and libraries are made of. A compiler's own dependencies name
# no header of a library: they say what was read of ours.
made_of() { # FOLDER OBJECTS...
	cd "$WH_TOP/$1" || return
	shift
	find "$@" -name '*.d' -exec cat {} + | tr -s ' \\:' '\n' | sort -u | while read -r f; do
		[ ! -f "$f" ] || realpath "$f"
	done
}
objects=$WH_BUILD/server
{
	made_of server "$objects"/tenant "$objects"/protect "$objects"/state "$objects"/limits \
		"$objects"/session "$objects"/vm
	for stub in cuda cudart preload; do made_of client-stubs/$stub "$WH_BUILD/client-stubs/$stub"; done
	made_of client-stubs/cuda "$WH_BUILD/client-stubs/transport"
	made_of softgpu "$WH_BUILD"/softgpu/driver "$WH_BUILD"/softgpu/exec "$WH_BUILD"/softgpu/ptx
} | sort -u >"$tmp"
ok its_files_are_known grep -q '/server/session/dispatch.c$' "$tmp"
is none_of_them_includes_a_librarys_header \
	"$(xargs grep -lE '^#[ ]*include <(nvml|nccl|cudnn|cublas|curand|cufft|cusparse|cusolver)' <"$tmp" |
		head -n 3)" ""
finish
