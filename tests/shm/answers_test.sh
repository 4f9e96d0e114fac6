#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a program gets the same answers from the libraries as from the driver
# itself: to right and to wrong arguments, after faults, resets and ends of contexts
# (tests/softgpu/answers_main.c asks). answers.forwarded lists what differs, section by section,
# with the reason. tests/softgpu/answers_test.sh compares softgpu with a real driver.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
: "${WH_TEST_DEVICE:=softgpu}"
export WH_TEST_DEVICE
. "$WH_TOP/tests/gpu/gpu.sh"
asks=$WH_BUILD/tests/softgpu/answers
need_built "$asks"

answers_dir=$world_dir
known=$world_dir/forwarded
on_gpu=
[ "$world_kind" != gpu ] || on_gpu='s/ on a GPU\]$/]/'
sed "$on_gpu" "$WH_TOP/tests/shm/answers.forwarded" >"$known"
. "$WH_TOP/tests/softgpu/answers.sh"

in_world native shared "$asks" >"$world_dir/native" 2>/dev/null
sections=$(sed -n 's/^\[\(.*\)\]$/\1/p' "$world_dir/native")
plan $(($(echo "$sections" | wc -l) + 1))
in_world shm shared "$asks" >"$world_dir/shm" 2>/dev/null
ok a_thousand_answers_are_asked_for test "$(grep -c ' = ' "$world_dir/native")" -ge 1000
for s in $sections; do
	is "answers_of_${s}_are_the_drivers" \
		"$(differences "$s" "$world_dir/native" "$world_dir/shm" "$known")" ""
done
finish
