#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the top Makefile would do (make -n): who shares jobs with whom, and that
# `make shm` is only what programs of this machine need.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL

would() { make -n -C "$WH_TOP" O="$WH_BUILD" "$@" 2>&1; }
has() { echo "$1" | grep -q -e "$2"; }

plan 6
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
finish
