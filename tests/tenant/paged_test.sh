#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that memory which overcommit's workers move to the host themselves looks like the
# driver's own, keeps its values and its place, and leaves and comes back as a whole or not at all where
# tenants have no quota (in_part_test.sh has those that do); and that the driver takes what a worker
# cannot move. The device has 64 MiB.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/tenant/books.sh"

export WORMHOLE_SOFTGPU_MEM=64M
begin() {
	await is_empty
	fd=3
	serve --nvml none --worker-uid none "$@"
	for t in a b; do "$wormhole" tenant create "$t" --mem none; done
}
# run_in TENANT WORDS... is a program that is over at once.
run_in() { t=$1; shift; timeout 60 "$wormhole" run --tenant "$t" -- "$paged" "$@" 2>&1; }

plan 28

begin
run_in a look >"$tmp/before"
"$wormhole" stop --force
begin --overcommit=1
is an_allocation_looks_as_it_does_without_overcommit "$(run_in a look)" "$(cat "$tmp/before")"
is one_ends_with_its_context "$(run_in a fill=30 context check)" "fill ok
context 1
good"
await is_empty

# The driver's checkpoint takes it, too.
start_paged x a fill=30 ready line check
"$wormhole" suspend a
ok a_suspension_by_command_leaves_nothing has_at_most $M
"$wormhole" resume a
next x
is and_all_comes_back "$(said x)" "fill ok good "
finish_client x
await is_empty
fd=3

# Two programs that do not fit together.
checks=$(for n in 1 2 3 4 5 6 7 8 9 10; do echo line check ready; done)
# Words are to be split.
# shellcheck disable=SC2086
start_paged x a fill=30 ready $checks
# shellcheck disable=SC2086
start_paged y b fill=30 ready $checks
is a_parked_tenant_has_left_its_device "$(states a b) $(field a "d['memory'], t['suspended_memory'] >= 36 << 20")" \
	"parked running  (0, True)"
ok and_the_device_has_it_no_more has_at_most $((37 * M))
for n in 1 2 3 4 5 6 7 8 9 10; do
	next x
	next y
done
good="good good good good good good good good good good"
is values_outlive_twenty_parkings "$(said x)$(said y)" "fill ok $good fill ok $good "
is of_which_none_was_the_drivers "$(metric driver_parkings_total a) $(metric driver_parkings_total b)" "0 0"
parkings=$(metric parkings_total a)
out=$(metric paged_bytes_total a 'direction="out"')
is each_moved_all_of_the_memory "$((parkings >= 10)) $out" "1 $((parkings * 36 * M))"
is and_took_some_time "$(metric paged_seconds_total a 'direction="out"' | awk '{ print ($1 > 0) }')" 1

# What is small stays: the driver takes such a tenant as a whole.
finish_client y
start z --tenant b -- ready line alloc=$((40 * M))
finish_client x
await is_empty
start_paged x a small=40 ready line small=1
next z
is the_driver_takes_what_a_worker_cannot_move "$(state a) $(metric driver_parkings_total a)" "parked 1"
like the_log_says_so "$("$wormhole" logs 2>&1)" "tenant a is parked: the driver's checkpoint took the memory of 1 of its 1 workers"
next x
is and_brings_it_back "$(said x)" "small ok small ok "
finish_client x
finish_client z
await is_empty
fd=3

# Several workers leave and come back together.
start_paged x a fill=18 ready line check ready line check
start_paged v a fill=18 ready line check ready line check
start_paged y b fill=30 ready line check ready line
is all_workers_of_a_tenant_leave "$(states a b) $(field a "d['memory'], len(t['workers'])")" "parked running  (0, 2)"
next x
next v
is and_come_back "$(said x)$(said v)" "fill ok good fill ok good "
finish_client y
await has_at_most $((40 * M))
start y --tenant b -- alloc=$((30 * M)) ready line
await is_state a parked
"$wormhole" suspend a
"$wormhole" resume a 2>"$tmp/said"
like a_tenant_that_does_not_fit_stays_away "$(state a) $(cat "$tmp/said")" "suspended .*CUDA_ERROR_OUT_OF_MEMORY"
ok and_leaves_nothing_of_it_on_the_device has_at_most $((32 * M))
finish_client y
"$wormhole" resume a
next x
next v
is it_comes_back_when_it_fits "$(said x)$(said v)" "fill ok good good fill ok good good "
finish_client x
finish_client v
await is_empty
fd=3

# Ends while it is away.
start_paged x a fill=30 ready line check
start_paged y b fill=30 ready line check
kill -KILL "$(worker a)"
ok a_worker_may_end_while_its_memory_is_away await is_state a running
next y
is which_the_other_tenant_does_not_notice "$(said y)" "fill ok good "
finish_client x 2>/dev/null
finish_client y
await is_empty
fd=3

# Work that cannot end, as long as the program does not end its capture.
start_paged x a fill=30 ready line capture ready line captured ready line check
next x
start z --tenant b -- ready line alloc=$((40 * M))
go z
# A try may be over before its state is seen; the other tenant waits for longer than this.
await_limit=3 await is_state a suspending
await is_state a running
is who_captures_stays "$(said x)" "fill ok capture ok "
next x
await eval '[ "$(said z)" = "ok " ]'
is and_leaves_after_it "$(said x)$(said z) $(state a)" "fill ok capture ok captured ok ok  parked"
finish_client z
next x
is with_what_was_captured "$(said x)" "fill ok capture ok captured ok good "
finish_client x
await is_empty
fd=3

# Memory that others have open.
start_paged x a fill=18 export="$tmp/handle" ready line check
is others_open_it "$(run_in a open="$tmp/handle" | head -n 1)" "open 1 1 1 0 1"
is other_tenants_do_not "$(run_in b open="$tmp/handle")" "open CUDA_ERROR_INVALID_HANDLE"
next x
is what_they_write_is_there "$(said x)" "fill ok export ok bad "
finish_client x
is and_nobody_opens_it_when_it_is_gone "$(run_in a open="$tmp/handle")" "open CUDA_ERROR_INVALID_HANDLE"
is memory_that_was_exported_is_free_when_it_is_freed "$(run_in a exports=20)" "exports ok"
"$wormhole" stop --force
finish
