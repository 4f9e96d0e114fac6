#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the end of the server ends no program: kill -9 of it leaves its monitor,
# which starts another server, and that goes on with all tenants, limits, accounts and programs.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

run() { "$wormhole" run --tenant stays -- "$client" "$@" 2>/dev/null; }
names() { "$wormhole" tenant list | sed 1d | awk '{ printf "%s ", $1 }'; }

plan 31
serve
m=$(monitor)
"$wormhole" tenant create stays --mem 64M --sm 30
"$wormhole" limit stays --mem 48M --host-mem 128M
start a --tenant stays -- alloc=4194304 ready line alloc=4096
start b --mem 32M -- alloc=4096 ready line alloc=4096
start c -- alloc=4096 ready line alloc=4096 ready line alloc=4096
w=$(field stays "t['workers'][0]['pid']")
own=$("$wormhole" tenant list --json | sed -n 's/.*"\(run[0-9]*\)".*/\1/p' | head -n 1)
before=$(files_of_server "$m")

ok another_server_goes_on_after_a_kill kill_alone
is below_the_same_monitor "$(monitor)" "$m"
is it_has_open_what_the_one_before_had "$(await server_has "$m" "$before"; files_of_server "$m")" "$before"
is workers_live_on "$(field stays "t['workers'][0]['pid']")" "$w"
is with_what_they_are_charged_for "$(field stays "d['memory'] >= 4194304")" True
is limits_are_as_they_were "$(field stays "d['memory_limit'], d['sm_percent'], t['host_memory_limit']")" \
	"(50331648, 30, 134217728)"
like the_log_says_what_happened "$(cat "$WORMHOLE_DIR/server.log")" \
	"the server was killed by signal 9; this one goes on, with all tenants and programs"
next a
is a_program_computes_on "$(said a)" "ok ok "
next b
is so_does_one_with_a_tenant_of_its_own "$(said b)" "ok ok "
next c
is and_one_of_the_default_tenant "$(said c)" "ok ok "
is limits_hold_on "$(run alloc=47000000)" CUDA_ERROR_OUT_OF_MEMORY
is new_programs_are_served "$(run alloc=4096)" ok
is limits_can_be_changed "$("$wormhole" limit stays --mem 60M 2>&1; field stays "d['memory_limit']")" 62914560
kill_alone
is also_what_was_changed_last_is_kept "$(field stays "d['memory_limit']")" 62914560
finish_client b
ok a_tenant_goes_with_its_keeper await eval "! '$wormhole' stat '$own' >/dev/null 2>&1"

# What ends while no server is there.
kill -STOP "$m"
was=$(server)
kill -KILL "$was"
kill -KILL "$w"
kill -CONT "$m"
await killed "$was"
ok a_worker_that_ended_meanwhile_is_missed await grep -q "tenant stays: worker $w killed by signal 9" "$WORMHOLE_DIR/server.log"
finish_client a
is its_account_is_free "$("$wormhole" stat stays --json | grep -c "\"pid\": $w")" 0

# Again and again, while programs start and end.
for n in 1 2 3; do
	"$wormhole" run --mem 16M -- "$client" alloc=4096 launch=50 </dev/null >"$tmp/run.$n" 2>"$tmp/run.err.$n" &
	eval "run_$n=$!"
	kill_alone
done
for n in 1 2 3; do eval "wait \$run_$n"; done
is programs_that_start_meanwhile_are_served "$(cat "$tmp"/run.[1-3] "$tmp"/run.err.[1-3] | sort | uniq -c | tr -s ' ')" " 6 ok"
next c
is and_those_that_run_do_not_notice "$(said c)" "ok ok ok "
"$wormhole" tenant create last --mem 16M
kill_alone
is a_tenant_that_was_answered_for_is_there "$(names)" "default stays last "
"$wormhole" tenant delete last
kill_alone
is one_that_was_deleted_is_not "$(names)" "default stays "

# It is reloaded as ever, and drains on.
is it_can_be_reloaded "$("$wormhole" reload 2>&1; echo $?)" 0
kill_alone
is and_killed_again "$(run alloc=4096)" ok
"$wormhole" drain >/dev/null
kill_alone
like one_that_drained_drains_on "$(WORMHOLE_LOG=1 "$wormhole" run --tenant stays -- "$client" 2>&1)" "takes no new programs"
"$wormhole" drain --off >/dev/null

# A server that cannot live does not come back for ever.
old=$(workers)
for n in $(seq 20); do
	was=$(server)
	kill -KILL "$was" 2>/dev/null || break
	await eval "killed $was || gone $m" || break
done
ok after_some_deaths_in_a_row_all_end await gone "$m"
ok programs_with_it await gone "$old"
like and_the_log_says_so "$(tail -n 3 "$WORMHOLE_DIR/server.log")" "error: the server was killed by signal 9, and so were those"
finish_client c 2>/dev/null
serve
is the_next_server_serves "$("$wormhole" run --mem 1G -- "$client" alloc=4096)" ok

# The monitor ends, and with it all.
start d -- alloc=4096
old=$(workers)
m=$(monitor)
s=$(server)
kill -KILL "$m"
ok a_server_ends_with_its_monitor await gone "$s"
ok and_so_do_workers await gone "$old"
finish_client d 2>/dev/null
serve
"$wormhole" stop
is one_that_is_stopped_leaves_nothing "$(find "$WORMHOLE_DIR" ! -name 'server.lo*' ! -path "$WORMHOLE_DIR")" ""
finish
