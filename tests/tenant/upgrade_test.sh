#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a server with 20 tenants can be upgraded while all of them compute, and
# that nothing is lost: no program, no call, no count of any. upgrade.py says what it does.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

TENANTS=20
mkdir "$tmp/bin"
cp "$WH_BUILD/server/wormhole-server" "$tmp/bin/"

plan 7
"$tmp/bin/wormhole-server" --backend "$WH_BUILD/softgpu/libcuda.so.1" --dir "$WORMHOLE_DIR" \
	--part-size 16M --daemon >"$tmp/serve" 2>&1
for n in $(seq 1 $TENANTS); do "$wormhole" tenant create "t$n" --mem 24M --host-mem 64M --sm 5; done
m=$(monitor)
"$WH_TOP/tests/tenant/upgrade.py" "$client" "$wormhole" "$WH_BUILD/server/wormhole-server" \
	"$tmp/bin/wormhole-server" $TENANTS >"$tmp/result" 2>"$tmp/err"
sed 's/^/# /' "$tmp/result" "$tmp/err"
# has EXPRESSION prints what it is of the result, r.
has() { /usr/bin/python3 -c "import json,sys; r=json.load(open(sys.argv[1])); print($1)" "$tmp/result"; }
is it_was_upgraded_while_they_computed "$(has "r['amid'] > 3, r['upgrades'] >= 8")" "True True"
is the_monitor_is_still_the_first_one "$(monitor)" "$m"
is no_call_of_any_program_failed "$(has "r['ok'] == r['wanted'], r['other']")" "True []"
is all_programs_ended_as_ever "$(has "r['ends']")" "[0]"
is until_then_each_had_its_worker "$(has "r['workers']")" $TENANTS
is which_was_charged_for_what_it_had "$(has "r['charged'] >= 4194304")" True
is each_launch_was_counted_once "$(has "r['launches'] == [r['each']]")" True
finish
