#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that `wormhole stop` ends no program unless it is told to, and what a server
# does that takes no new programs.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

stop() { "$wormhole" stop "$@"; }
# In the background it must not hold the clients' standard inputs open.
stop_when_idle() {
	(
		for f in $(seq 4 "$fd"); do eval "exec $f>&-"; done
		exec "$wormhole" stop --when-idle
	) >"$tmp/idle" 2>&1 &
	waits=$!
}
program() { WORMHOLE_LOG=1 "$wormhole" run --tenant stays -- "$client" alloc=4096; }

plan 21
serve
"$wormhole" tenant create stays --mem 64M
start a --tenant stays -- alloc=4096 ready line alloc=4096
start b --mem 64M -- alloc=4096
s=$(server)
like stop_refuses_while_programs_run "$(stop 2>&1 && echo stopped)" \
	"2 programs run, of tenants stays, run[0-9]*; .wormhole stop --when-idle. lets them end, .* --force. ends them$"
is two_ways_at_once_are_wrong_usage "$(stop --when-idle --force >/dev/null 2>&1; echo $?)" 2
next a
is and_the_programs_run_on "$(said a)" "ok ok "
is a_running_server_takes_programs "$(program 2>/dev/null)" ok

"$wormhole" drain >"$tmp/drained"
like drain_says_who_is_left "$(cat "$tmp/drained")" "stays *1  $(pid a)$"
like a_drained_server_takes_no_program "$(program 2>&1)" "takes no new programs; ask its administrator"
like nor_one_with_a_tenant_of_its_own "$("$wormhole" run --mem 64M -- "$client" 2>&1)" \
	"takes no new programs; ask its administrator"
is drain_says_it_to_scripts "$("$wormhole" drain --json | /usr/bin/python3 -c 'import json,sys
print([(p["tenant"] == "stays", p["programs"], len(p["pids"])) for p in json.load(sys.stdin)])')" \
	"[(True, 1, 1), (False, 1, 1)]"
"$wormhole" drain --off
is drain_can_be_taken_back "$(program 2>/dev/null)" ok

stop_when_idle
ok stop_when_idle_says_that_it_waits await grep -q "the last of 2 programs" "$tmp/idle"
like meanwhile_no_program_is_taken "$(program 2>&1)" "takes no new programs and ends with the last one"
finish_client b
ok it_says_when_fewer_are_left await grep -q "the last of 1 program;" "$tmp/idle"
"$wormhole" drain --off
wait $waits
is and_that_somebody_has_taken_it_back "$? $(tail -n 1 "$tmp/idle")" \
	"1 wormhole: error: somebody said \`wormhole drain --off': the server does not end"
is then_programs_are_taken_again "$(program 2>/dev/null)" ok

stop_when_idle
await grep -q "the last of 1 program;" "$tmp/idle"
finish_client a
is the_last_program_ends_as_ever "$?" 0
wait $waits
is and_the_server_with_it "$?" 0
ok whose_process_goes await gone "$s"

# A program that has just ended is none, although its worker may end a little later.
serve
is stop_after_a_program_ends_the_server "$("$wormhole" run -- "$client" alloc=4096 && stop; echo $?)" "ok
0"
serve
is stop_when_idle_ends_an_idle_server_at_once "$(stop --when-idle 2>&1; echo $?)" 0
serve
start c -- alloc=4096
is stop_by_force_ends_it_with_its_programs "$(stop --force 2>&1; echo $?)" 0
finish_client c
ok and_a_new_server_starts serve
finish
