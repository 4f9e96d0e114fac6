#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that under `serve --overcommit` tenants whose memory does not fit on a device
# together each have all of their quota, one after the other; that nobody else leaves its device; and
# that neither this nor the end of any process meanwhile loses anything. The device has 64 MiB.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/tenant/books.sh"

export WORMHOLE_SOFTGPU_MEM=64M
overcommits() { await is_empty; serve --nvml none --worker-uid none "$@"; }
tenants() { for t in "$@"; do "$wormhole" tenant create "$t" --mem 48M; done; }
# alone ALLOCATION TENANT is a program that is over at once.
alone() { timeout 60 "$wormhole" run --tenant "$2" -- "$client" "alloc=$1" 2>&1; }

plan 35

# Without the option.
like a_time_of_none_is_an_error "$("$wormhole" serve --backend softgpu --overcommit=none 2>&1)" \
	"overcommit: 'none' is not a time such as 30 or 500ms"
overcommits
tenants a b
start x --tenant a -- alloc=$((40 * M))
is without_the_option_the_driver_refuses "$(alone $((40 * M)) b) $(state a)" "CUDA_ERROR_OUT_OF_MEMORY running"
finish_client x
"$wormhole" stop --force
fd=3

# Two tenants that do not fit together.
overcommits --overcommit=1
tenants a b c
start x --tenant a -- alloc=$((40 * M)) copy=65536 ready line copy=65536 ready line copy=65536 ready line copy=65536
start y --tenant b -- alloc=$((40 * M)) copy=65536 ready line copy=65536 ready line copy=65536 ready line copy=65536
is memory_that_does_not_fit_finds_room "$(said y)" "ok ok "
is a_tenant_that_does_not_call_has_left "$(states a b)" "parked running "
is it_has_nothing_of_the_device "$(field a "d['memory'], t['suspended_memory'] >> 20, d['memory_limit'] >> 20")" "(0, 40, 48)"
like top_says_so "$("$wormhole" top --once)" "parked"
next x
is it_comes_back_by_its_next_call "$(said x)" "ok ok ok "
is for_which_the_other_one_leaves "$(states a b)" "running parked "
is metrics_count_it "$(metric parkings_total a) $(metric parkings_total b)" "1 1"
is and_the_time_that_they_waited "$(for t in a b c; do metric room_waited_seconds_total $t; done |
	awk '{ printf "%d ", ($1 > 0) }')" "1 1 0 "
is beyond_its_quota_nobody_leaves_for_it "$(alone $((50 * M)) c) $(states a b)" \
	"CUDA_ERROR_OUT_OF_MEMORY running parked "
is a_new_program_brings_its_tenant_back "$(alone 4096 b) $(states b)" "ok running "

# What the administrator suspends.
next y
await is_state a parked
is a_parked_tenant_can_be_suspended "$("$wormhole" suspend a 2>&1; states a)" "suspended "
go x
await asleep "$(client_of a)"
"$wormhole" tenant create d --mem 48M
start z --tenant d -- alloc=$((40 * M)) copy=65536
next y
is whose_calls_resume_nobody_then "$(states a b d) $(said x)" "suspended running parked  ok ok ok "
"$wormhole" tenant delete d --force
"$wormhole" resume a 2>"$tmp/said"
like resume_says_that_the_device_is_full "$(cat "$tmp/said")" "cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY (2)"
finish_client z
finish_client y
is and_goes_on_when_it_is_not "$("$wormhole" resume a 2>&1; await eval '[ "$(said x)" = "ok ok ok ok " ]'; said x)" "ok ok ok ok "
finish_client x
await is_empty
fd=3

# Processes that end meanwhile: x holds the device, and y wants room there.
start x --tenant a -- alloc=$((40 * M)) copy=65536 ready line copy=65536 ready line copy=65536 ready line copy=65536
start y --tenant b -- ready line alloc=$((40 * M)) copy=65536 ready line copy=65536 ready line copy=65536
halt "$(worker a)"
go y
await helper
kill -KILL "$(helper)"
kill -CONT "$(worker a)"
await eval '[ "$(said y)" = "ok ok " ]'
is the_end_of_the_process_that_asks_only_delays_it "$(said y) $(state a)" "ok ok  parked"
kill_alone
is a_tenant_stays_parked_over_a_kill_of_the_server "$(states a b)" "parked running "
next x
is and_comes_back_after_it "$(said x) $(states a b)" "ok ok ok  running parked "
halt "$(worker a)"
go y
await helper
kill_alone
kill -CONT "$(worker a)"
await eval '[ "$(said y)" = "ok ok ok " ]'
is a_kill_of_the_server_in_the_middle_only_delays_it "$(said y) $(states a b)" "ok ok ok  parked running "
halt "$(worker b)"
go x
await helper
kill -KILL "$(pid x)"
kill -CONT "$(worker b)"
next y
is who_waits_for_room_may_end "$(said y) $(state b)" "ok ok ok ok  running"
finish_client x 2>/dev/null
finish_client y
"$wormhole" stop --force
fd=3

# Who leaves.
overcommits --overcommit=1
"$wormhole" tenant create low --mem 48M --sm 50 --priority low
"$wormhole" tenant create normal --mem 48M
"$wormhole" tenant create all --mem none
start x --tenant normal -- alloc=$((20 * M)) ready line copy=65536
start y --tenant low -- alloc=$((20 * M)) ready line copy=65536
# Both are idle then.
sleep 1.2
is the_lowest_class_leaves_first "$(alone $((40 * M)) all) $(states low normal)" "ok parked running "
is what_no_device_has_the_driver_refuses "$(alone $((80 * M)) all) $(states low normal)" \
	"CUDA_ERROR_OUT_OF_MEMORY parked parked "
# The one of the low class comes back first, so its stay is not the last to end.
next y
next x
is and_all_come_back "$(said x)$(said y)$(states low normal)" "ok ok ok ok running running "
alone $((40 * M)) all >"$tmp/said"
was=$(states low)
kill -KILL "$(pid y)"
await is_state low running
is a_parked_tenant_whose_programs_end_runs_again "$was$(states low)" "parked running "
finish_client x
finish_client y 2>/dev/null
fd=3
await is_empty
start x --tenant normal -- alloc=$((40 * M)) ready line copy=65536
start y --tenant all -- alloc=$((40 * M)) ready line copy=65536
is drain_keeps_those_that_are_parked "$("$wormhole" drain --suspend >"$tmp/said" 2>&1; states normal all)" \
	"suspended suspended "
is and_its_end_lets_calls_bring_them_back "$("$wormhole" drain --off 2>&1; states normal all)" "parked parked "
next x
next y
is also_those_that_do_not_fit_together "$(said x)$(said y)" "ok ok ok ok "
finish_client x
finish_client y
fd=3
"$wormhole" stop --force

# A stay that is far longer than this test: it is for who computes.
overcommits --overcommit=200
tenants a b
start x --tenant a -- alloc=$((40 * M)) ready line copy=65536
start y --tenant b -- alloc=$((40 * M)) ready line copy=65536
next x
is an_idle_tenant_gives_up_its_stay "$(said x) $(states a b)" "ok ok  running parked "
# Who is in a call for long looks idle. This worker comes to no rest.
halt "$(worker a)"
go y
await is_state a suspending
await is_state a running
is who_does_not_come_to_rest_keeps_its_stay "$(said y)" "ok "
kill -CONT "$(worker a)"
await eval '[ "$(said y)" = "ok ok " ]'
is and_gives_it_up_when_it_does "$(said y) $(states a b)" "ok ok  parked running "
finish_client x
finish_client y
await is_empty
fd=3
timeout 120 "$wormhole" run --tenant a -- "$computes" 1000000 $((40 * M)) >"$tmp/x" 2>&1 &
computing=$!
await grep -q began "$tmp/x"
start y --tenant b -- ready line alloc=$((40 * M))
go y
looked=$(($(date +%s) + 5))
await eval '[ "$(date +%s)" -ge $looked ]'
is who_computes_keeps_it "$(said y) $(state a) $(metric parkings_total a)" " running 2"
# timeout hands this signal on to the program.
kill "$computing"
finish_client y
"$wormhole" stop --force
fd=3

# Two tenants that compute all the time.
stay=500
overcommits --overcommit=${stay}ms
tenants a b
want=$("$wormhole" run --tenant a -- "$computes" 1500 | tail -n 1)
await is_empty
began=$(date +%s%3N)
# Without NVML, memory that another one takes while a program loads its code is charged to the code
# (limits/overhead.c): the second one loads its code when the first one has its memory.
timeout 120 "$wormhole" run --tenant a -- "$computes" 1500 $((40 * M)) >"$tmp/a" 2>&1 &
computing_a=$!
await eval '[ "$(od -An -tu8 -j64 -N8 "$books")" -ge $((40 * M)) ]'
timeout 120 "$wormhole" run --tenant b -- "$computes" 1500 $((40 * M)) >"$tmp/b" 2>&1 &
wait "$computing_a" $!
most=$((($(date +%s%3N) - began) / stay + 2))
turns=$(($(metric parkings_total a) + $(metric parkings_total b)))
is both_have_the_values_of_a_run_that_nobody_disturbs "$(tail -n 1 "$tmp/a") $(tail -n 1 "$tmp/b")" "$want $want"
ok they_take_turns [ "$turns" -ge 2 ]
ok of_the_time_that_a_tenant_stays [ "$turns" -le "$most" ]
"$wormhole" stop --force
finish
