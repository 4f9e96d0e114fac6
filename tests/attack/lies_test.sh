#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what a lie of a worker costs, in each word that the worker can write and
# others read (docs/security.md). Other tenants and the server go on. Nothing of the lie is left
# when the tenant's last worker has ended.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

M=1048576
lie() { "$WH_BUILD/tests/attack/bin/lie" "$WORMHOLE_DIR/tenants/bad.usage" "$@"; }
# run_as TENANT WORDS prints what a new program of the tenant says, or `late' when it takes longer
# than 40 s.
run_as() {
	tenant=$1
	shift
	timeout 40 "$wormhole" run --tenant "$tenant" -- "$client" "$@" 2>/dev/null | tr '\n' ' '
}
maps() { sed -n "s|.* $2 .*$WORMHOLE_DIR/tenants/\(.*\)$|\1|p" "/proc/$1/maps" | sort -u | tr '\n' ' '; }
worker_of() { field "$1" "t['workers'][0]['pid']"; }
export FAKE_NVML="$tmp/figures" FAKE_NVML_UUID=GPU-776f726d-686f-6c65-2d73-6f6674677075
: >"$FAKE_NVML"

plan 23
serve --nvml "$WH_BUILD/tests/tenant/bin/fake_nvml.so" --slack 16M
"$wormhole" tenant create bad --mem 64M
"$wormhole" tenant create good --mem 64M --sm 50
first=$(server)
start a --tenant bad -- alloc=$M
start g --tenant good -- alloc=$M
a=$(worker_of bad)

# A worker can write only memory of its own tenant, and not even the limits of that tenant.
like a_worker_writes_its_tenants_counters_and_seat "$(maps "$a" rw-s)" '^bad.usage turns/seats/[0-9]* $'
like it_reads_its_limits_and_others_turns "$(maps "$a" r--s)" '^bad.limits turns/seats/[0-9]* turns/seats/.*board $'
is it_has_none_of_the_files_open "$(find "/proc/$a/fd" -lname "*/tenants/*.*" -o -lname "*/tenants/turns/seats/*" | wc -l)" 0

lie head
is head_does_not_hide_the_tenant "$(field bad "d['memory_limit']")" $((64 * M))
is nor_keep_others_from_being_shown "$("$wormhole" stat --json 2>&1 | grep -c '"tenant":')" 3

lie odd
is sums_that_never_settle_hold_nobody_up "$(timeout 10 "$wormhole" stat --json | grep -c '"tenant":')" 3

lie accounts=$$
is memory_of_slots_that_are_nobodys_is_its_own_tenants "$(run_as good alloc=$((32 * M)))" "ok "
lie table
ok table_at_random_is_read_in_bounds "$wormhole" stat --json bad
is and_others_share_on "$(run_as good alloc=$M export="$tmp/handle")" "ok ok "

# Locks that nobody gives back cause an error after a while; nobody waits for ever.
lie locks
before=$(date +%s)
like lock_that_is_never_given_back_is_an_error "$(timeout 60 "$wormhole" run --tenant bad -- "$client" alloc=$M 2>&1)" "CUDA_ERROR"
ok in_bounded_time [ $(($(date +%s) - before)) -lt 20 ]
is others_have_locks_of_their_own "$(run_as good alloc=$M)" "ok "
ok and_the_server_needs_none "$wormhole" limit bad --mem 80M

# All lies are gone with the tenant's last worker.
lie tokens
finish_client a
is with_its_last_worker_all_lies_are_gone "$(await has_workers 1; run_as bad alloc=$((48 * M)))" "ok "
await field_is bad "d['memory'], len(t['workers'])" "(0, 0)"
is memory_of_nobody_too "$(field bad "d['memory'], len(t['workers'])")" "(0, 0)"
start a --tenant bad -- alloc=$M export="$tmp/handle"
start b --tenant bad -- open="$tmp/handle"
is and_its_workers_share_again "$(said b)" "ok "
finish_client b

# The driver's figure decides which worker has to go. What a worker claims to have counted excuses
# no more than the limit.
start b --tenant bad -- alloc=$M
a=$(worker_of bad)
b=$(field bad "[w['pid'] for w in t['workers'] if w['pid'] != $a][0]")
lie counted="$a"
printf '%s\n' "$a $((300 * M)) 0" "$b $((20 * M)) 0" >"$tmp/new"
mv "$tmp/new" "$FAKE_NVML"
ok who_counts_for_more_than_the_limit_is_stopped await gone "$a"
ok the_other_is_not kill -0 "$b"
: >"$FAKE_NVML"
finish_client a 2>/dev/null

# The server ends only its own children, whatever process numbers stand in the file.
lie accounts="$(worker_of good)"
g=$(worker_of good)
"$wormhole" tenant delete bad --force
ok forged_numbers_of_processes_end_nobody kill -0 "$g"
finish_client b 2>/dev/null

"$wormhole" tenant create bad --mem 64M --sm 10
start a --tenant bad -- alloc=$M
for seed in 1 2 3 4 5; do
	lie noise=$seed
	"$wormhole" stat --json >/dev/null 2>&1
	run_as bad alloc=4096 >/dev/null &
	noisy=$!
	run_as good launch=100 alloc=$M
	"$wormhole" limit bad --mem ${seed}0M
	kill $noisy 2>/dev/null
done >"$tmp/noise"
is noise_in_all_of_it_disturbs_no_other_tenant "$(cat "$tmp/noise")" "ok ok ok ok ok ok ok ok ok ok "
finish_client a 2>/dev/null
is and_is_gone_with_its_last_worker "$(await has_workers 1; run_as bad alloc=$((40 * M)))" "ok "
is all_that_time_it_was_one_server "$(server)" "$first"
finish_client g
ok server_lives_on "$wormhole" tenant delete bad --force
finish
