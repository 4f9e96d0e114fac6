#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that nothing is left of a hundred tenants which come and go for eight minutes
# of virtual time, on as many servers as eight hosts have, and that the cost of one does not grow
# with their number. bench/many.py has the long run.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
need_built "$WH_BUILD/host/wormhole" "$WH_BUILD/tests/tenant/bin/client"
export WH_BUILD
unset WORMHOLE_LOG WORMHOLE_SOCKET WORMHOLE_TRANSPORT WORMHOLE_DIR
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# When the test is stopped from outside, the trap on EXIT runs as well.
trap 'exit 1' HUP INT PIPE TERM
/usr/bin/python3 "$WH_TOP/bench/many.py" --hosts 8 --tenants 100 --minutes 8 --programs 20 --crashes 4 \
	--most 128 --seconds 1 >"$tmp/result" 2>"$tmp/error" ||
	{ echo "Bail out! $(tail -n 1 "$tmp/error")"; exit 1; }

# result EXPRESSION evaluates Python, with the result in r, and rows of one server by their number
# of tenants in s.
result() {
	/usr/bin/python3 -c "
import json, sys
r = json.load(open(sys.argv[1]))
s = {row['tenants']: row for row in r['server']}
print($1)" "$tmp/result"
}
# growth KEY compares what each of the last 64 tenants added with what each of the 64 before them
# did.
growth() { result "(s[128]['$1'] - s[64]['$1']) <= 1.2 * 2 * (s[64]['$1'] - s[32]['$1'])"; }

plan 15
is tenants_were_placed_and_deleted "$(result "r['done']['placed'] > 120 and r['done']['deleted'] > 10")" True
is their_limits_changed "$(result "r['done']['changed'] > 20")" True
is programs_ran_and_were_killed "$(result "r['done']['programs'] > 5 and r['done']['killed_programs'] + r['done']['killed_workers'] > 0")" True
is servers_were_killed "$(result "r['done']['killed_servers'] > 0")" True
is servers_say_what_was_placed "$(result "r['wrong']")" 0
for what in tenants workers files seats descriptors processes sockets; do
	is "no_${what}_are_left" "$(result "r['left']['$what']")" 0
done
# Other work on this machine may fall into one second, but not into each.
is tenants_at_rest_wake_nobody_up "$(result "min(s[n]['wakeups'] for n in (16, 32, 64, 128))")" 0.0
is memory_does_not_grow_faster_than_their_number "$(growth bytes)" True
is nor_do_descriptors "$(growth descriptors)" True
finish
