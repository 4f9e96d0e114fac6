#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that bench/overcommit.py measures what it says, small and over softgpu: two tenants
# that do not fit on the device together take turns, with the values that each has alone, and the table
# of memory over time shows it.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
[ "$(id -u)" = 0 ] || skip_all "the server has to reach into workers, which root alone may"

plan 5
said=$(timeout 120 /usr/bin/python3 -B "$WH_TOP/bench/overcommit.py" --backend softgpu --turn 0.5 --turns 4 \
	--out "$tmp" "$wormhole" 2>"$tmp/err") || diag "$(tail -n 5 "$tmp/err")"
is both_programs_have_the_values_that_they_have_alone "$(echo "$said" | grep -c 'values equal')" 2
like it_says_the_quotient_beside_its_goal "$said" "^one after the other .*: [0-9.]*; goal 1.2: "
is it_says_what_was_moved_and_how_fast "$(echo "$said" | grep -c '^[ab] moved 0\.[0-9]*[1-9][0-9]* GB [a-z]* in .*: [0-9.]* GB/s$')" 4
# Columns 3 and 6 are bytes on the device, 5 and 8 the states.
is tenants_that_run_have_no_more_than_the_device "$(awk -F, '
	$5 == "running" && $8 == "running" && $3 + $6 > 67108864' "$tmp/overcommit.csv")" ""
is each_tenant_is_parked_in_some_line "$(awk -F, '$1 == "together" {
	a += $5 == "parked"; b += $8 == "parked" } END { print (a > 0), (b > 0) }' "$tmp/overcommit.csv")" "1 1"
[ $tap_failed = 0 ] || diag "$said"
finish
