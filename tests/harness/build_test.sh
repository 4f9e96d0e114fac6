#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what the top Makefile would do (make -n): that folders share its jobs, and
# that `make shm`, `make deb` and `make demo` build only what they need.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL

would() { make -n -C "$WH_TOP" O="$WH_BUILD" "$@" 2>&1; }
has() { echo "$1" | grep -q -e "$2"; }

tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
plan 17
out=$(would -j2 all)
is all_can_be_planned $? 0
# Only a recipe that make recognizes as a make runs under -n, and gets jobs.
ok folders_are_given_jobs has "$out" '-C cublas'
is nobody_is_left_without_jobs "$(echo "$out" | grep -c jobserver)" 0
out=$(would shm)
is shm_can_be_planned $? 0
ok shm_builds_the_server has "$out" '-C server$'
is shm_needs_no_kernel_no_image_no_test \
	"$(echo "$out" | grep -E -e 'build-kernel|bochs|mkinitramfs|-C tests' | head -n 3)" ""

# What is given to make on its command line holds in all folders.
is no_folder_has_a_variable_that_make_bench_is_given "$(find "$WH_TOP" -path "$WH_BUILD" -prune -o \
	\( -name Makefile -o -name '*.mk' \) -exec grep -lE '^(PARTS|RESUME)[[:space:]]*[:?+]?=' '{}' +)" ""

out=$(would deb)
ok packages_install_what_they_need_alone has "$out" 'install-deps.sh deb$'
is packages_need_no_kernel_no_image_no_test \
	"$(echo "$out" | grep -E -e 'build-kernel|bochs|mkinitramfs|-C tests' | head -n 3)" ""

out=$(would -j2 demo)
is demo_can_be_planned $? 0
ok demo_builds_kvms_modules_and_bochs has "$out" 'get-bochs.sh'
is demo_needs_no_kernel_no_other_test "$(echo "$out" |
	grep -E -e 'build-kernel' -e '-C [^ ]*tests/(kernel|lib|cudart|shm)' | head -n 3)" ""
ok demo_fetches_no_library_for_its_headers has "$out" 'install-deps.sh demo$'
# made_of FOLDER OBJECTS... prints all files that the worker and libraries are made of. The
# compiler's dependencies leave out the headers of libraries, so they show which of our headers
# were read.
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

# Where no toolkit is, programs are linked with our libraries, of which there are several majors.
work=$(mktemp -d)
trap 'rm -rf "$tmp" "$work"' EXIT
mkdir "$work/client-stubs"
touch "$work/client-stubs/libcublas.so.11" "$work/client-stubs/libcublas.so.13"
ln -s libcublas.so.13 "$work/client-stubs/libcublas.so"
printf 'include %s/common.mk\nall:; @echo $(call cuda_lib,cublas)\n' "$WH_TOP" >"$work/Makefile"
is a_program_without_a_toolkit_is_linked_with_the_newest_major \
	"$(make -s -C "$work" O="$work" CUDA_INC="$work/none/include")" \
	"-Xlinker $work/client-stubs/libcublas.so -Xlinker -rpath-link=$work/client-stubs"

# Folders of mktemp are root's alone.
reach() { WH_BUILD=$1 WORMHOLE_WORKER_UID='' sh -c '. "$WH_TOP/tests/reach.sh"; echo "$WORMHOLE_WORKER_UID"'; }
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work/client-stubs"
	is workers_run_as_root_where_others_reach_no_build "$(reach "$work/client-stubs")" none
else
	skip workers_run_as_root_where_others_reach_no_build "only root has workers of other users"
fi
finish
