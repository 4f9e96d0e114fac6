#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the memory limit holds in every way to take device memory
# (tests/limits/ways_test.c) on the real driver, compared with what NVML says the process has.
# Each way is a process and a tenant of its own; a few run at a time.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
ways=$WH_BUILD/tests/limits/ways_test.t
# The test does not run on softgpu, which has no figure of its own for a process.
world_init gpu || skip_all "$world_missing"

try() { # WAY
	LD_LIBRARY_PATH=$native_path timeout 60 "$ways" --gpu "$driver" "$1" >"$world_dir/way.$1" 2>&1
	echo "status $?" >>"$world_dir/way.$1"
}

stops() { # WAY
	cat "$world_dir/way.$1"
	grep -q '^ok 1 ' "$world_dir/way.$1"
}

gives_back() { # WAY
	cat "$world_dir/way.$1"
	grep -q '^ok 2 ' "$world_dir/way.$1"
}

names=$("$ways" --list)
# shellcheck disable=SC2086
set -- $names
plan $(($# * 2 + 1))
ok the_program_knows_the_ways [ $# -ge 30 ]
while [ $# -gt 0 ]; do
	for w in ${1:+"$1"} ${2:+"$2"} ${3:+"$3"} ${4:+"$4"}; do
		try "$w" &
	done
	wait
	for w in ${1:+"$1"} ${2:+"$2"} ${3:+"$3"} ${4:+"$4"}; do
		ok "${w}_stops_at_the_limit" stops "$w"
		ok "${w}_is_given_back_once" gives_back "$w"
	done
	shift $(($# < 4 ? $# : 4))
done
finish
