#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that under `serve --overcommit' only so much of a tenant's memory leaves a device as
# others want of it; that more leaves when they want more, before another tenant is parked; and that all
# of it leaves where nobody knows what is wanted, or the administrator says so. The device has 64 MiB.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/tenant/books.sh"

# Each part of the program that checks values takes 4 MiB.
export WORMHOLE_SOFTGPU_MEM=64M
begin() {
	await is_empty
	fd=3
	serve --nvml none --worker-uid none --overcommit=1
}
# What a tenant has on the device and in the host, in MiB.
place_of() { field "$1" "d['memory'] >> 20, t['suspended_memory'] >> 20"; }
end() {
	for c in "$@"; do finish_client "$c" 2>/dev/null; done
	await is_empty
	fd=3
}

plan 28

# 40 MiB of each: 16 are too much.
begin
for t in a b; do "$wormhole" tenant create "$t" --mem 44M; done
start_paged x a fill=31 ready line check ready line check ready line check ready line check ready line check
start_paged y b fill=31 ready line check ready line check ready line check ready line check ready line check
is a_tenant_is_parked_though_most_of_it_stays "$(states a b) $(place_of a)" "parked running  (16, 24)"
ok the_device_has_that [ "$(on_device)" -gt $((55 * M)) ]
like top_shows_both "$("$wormhole" top --once)" "a .*parked"
for n in 1 2 3 4 5; do
	next x
	next y
done
good="good good good good good"
is values_outlive_turns "$(said x)$(said y)" "fill ok $good fill ok $good "
parkings=$(metric parkings_total b)
out=$(metric paged_bytes_total b 'direction="out"')
is each_parking_moves_what_the_other_one_lacks "$((parkings >= 4)) $((out / parkings / M <= 24))" "1 1"
is nobody_was_the_drivers "$(metric driver_parkings_total a) $(metric driver_parkings_total b)" "0 0"
end x y
"$wormhole" stop --force

# A third one wants room when one has left in part.
begin
for t in a b; do "$wormhole" tenant create "$t" --mem 44M; done
"$wormhole" tenant create c --mem 12M
start_paged x a fill=31 ready line check ready line check
start_paged y b fill=31 ready line check ready line check
before=$(metric parkings_total a)
start z --tenant c -- alloc=$((10 * M)) copy=65536 ready line copy=65536
is more_of_it_leaves_for_another_one "$(said z)$(states a b c) $(place_of a)" "ok ok parked running running  (8, 32)"
is which_is_no_parking_of_its_own "$before $(metric parkings_total a) $(metric parkings_total b)" "1 1 0"
next x
is and_all_comes_back "$(said x)" "fill ok good "
next y
next x
is to_the_same_values "$(said y)$(said x)" "fill ok good fill ok good good "

# The administrator's word.
next y
await is_state a parked
is what_is_parked_in_part_can_be_suspended "$(suspend a)$(states a)" "suspended "
is and_leaves_with_all_of_it "$(place_of a)" "(0, 40)"
ok which_the_device_has_then has_at_most $((55 * M))
end y z
is it_comes_back_by_command "$(resume a)$(state a)" running
end x
"$wormhole" stop --force

# What was away once and came back.
begin
for t in a b; do "$wormhole" tenant create "$t" --mem 44M; done
"$wormhole" tenant create all --mem none
start_paged x a fill=31 ready line check ready line check
start_paged y all fill=19 ready
finish_client y
next x
start_paged z b fill=31 ready
gone=$(field a "t['suspended_memory']")
next x
is what_comes_back_in_vain_leaves_as_it_was "$(metric paged_bytes_total a 'direction="out"')" $((40 * M + gone))
is and_has_its_values_then "$(said x)" "fill ok good good "
end x z
"$wormhole" stop --force

# A parked worker that does not answer.
begin
for t in a b; do "$wormhole" tenant create "$t" --mem 44M; done
"$wormhole" tenant create c --mem 12M
start_paged x a fill=31 ready line check
start_paged y b fill=31 ready line check
halt "$(worker a)"
start z --tenant c -- ready line alloc=$((10 * M)) copy=65536
m=$(monitor)
: >"$tmp/tried"
# tried notes the process that asks a parked tenant's workers.
tried() { pgrep -P "$m" -f -- '--checkpoint further' >>"$tmp/tried"; }
go z
await eval 'tried; [ "$(said z)" = "ok ok " ]'
is a_worker_that_does_not_answer_is_asked_once "$(sort -u "$tmp/tried" | wc -l) $(state b)" "1 parked"
out=$(suspend a)
like the_administrator_is_told "$? $out" "^1 .*tenant a is not suspended: worker .* does not answer.*; it stays suspended, and some of its memory on"
kill -CONT "$(worker a)"
next y
end y z
is what_it_has_comes_back_later "$(resume a)$(state a)" running
next x
is to_the_values_that_it_had "$(said x)$(said y)" "fill ok good fill ok good "
end x
"$wormhole" stop --force

# Who has no quota may want all, also if it is refused only 4 MiB.
begin
"$wormhole" tenant create a --mem 44M
"$wormhole" tenant create all --mem none
start_paged x a fill=31 ready line check
start_paged y all fill=19 ready
is all_of_it_leaves_for_one_without_a_quota "$(states a all) $(place_of a)" "parked running  (0, 40)"
next x
is and_comes_back "$(said x)" "fill ok good "
end x y
"$wormhole" stop --force

# A server that ends while a tenant is away in part.
begin
for t in a b; do "$wormhole" tenant create "$t" --mem 44M; done
"$wormhole" tenant create c --mem 12M
start_paged x a fill=31 ready line check ready line check ready line check
start_paged y b fill=31 ready line check ready line check
kill_alone
is a_kill_of_the_server_changes_nothing "$(states a b) $(place_of a)" "parked running  (16, 24)"
halt "$(worker a)"
start z --tenant c -- ready line alloc=$((10 * M)) copy=65536
go z
await helper
kill_alone
kill -CONT "$(worker a)"
await eval '[ "$(said z)" = "ok ok " ]'
is nor_does_one_while_more_of_it_leaves "$(said z)$(states a b c) $(place_of a)" "ok ok parked running running  (8, 32)"
next x
next y
is all_is_there_after_it "$(said x)$(said y)" "fill ok good fill ok good "
next x
await is_state b parked
kill -KILL "$(worker b)"
ok a_worker_may_end_while_its_memory_is_away_in_part await is_state b running
next x
is which_the_others_do_not_notice "$(said x) $(states a)" "fill ok good good good  running "
end x y z
"$wormhole" stop --force

# Two devices. The first tenant may use both, and has left one of them.
export WORMHOLE_SOFTGPU_MEM=64M,64M
begin
"$wormhole" tenant create a --mem 44M
"$wormhole" tenant create other --mem 44M --devices 1
"$wormhole" tenant create c --mem 44M --devices 0
start o --tenant other -- alloc=$((4 * M))
start_paged x a fill=31 ready line check
start_paged y c fill=31 ready
next x
is nobody_leaves_a_device_that_it_does_not_want "$(metric parkings_total c) $(metric parkings_total other)" "1 0"
end x y o
"$wormhole" stop --force
finish
