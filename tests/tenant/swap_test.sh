#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that `wormhole suspend --to swap` takes a tenant's memory off the host, too, that
# nothing of it is lost, and that it is refused by name where it cannot be done. It makes a swap file
# of its own for that time.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/tenant/suspended.sh"

swap=
off() { [ -z "$swap" ] || swapoff "$swap"; }
trap 'off; clean_up' EXIT
has_swap() { [ "$(sed -n 's/^SwapTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)" -gt 0 ]; }
of_worker() { sed -n "s/^$1:[^0-9]*\([0-9]*\).*/\1/p" "/proc/$(worker a)/status"; }

plan 11
serve
"$wormhole" tenant create a --mem 64M
start x --tenant a -- alloc=33554432 copy=33554432 ready line copy=65536 launch=5
like a_file_is_refused_by_name "$(suspend a --to "$tmp/file")" "'$tmp/file' is not 'swap': .*say --to swap"
if has_swap; then
	skip without_swap_it_is_refused_with_the_way_to_have_it "this machine has swap"
else
	like without_swap_it_is_refused_with_the_way_to_have_it "$(suspend a --to swap)" "this machine has no swap; make .* swapon"
fi
is the_tenant_runs_on "$(state a)" running

dd if=/dev/zero of="$tmp/swap" bs=1M count=128 2>/dev/null
chmod 600 "$tmp/swap"
if PATH=$PATH:/sbin:/usr/sbin mkswap "$tmp/swap" >/dev/null 2>&1 && swapon -p 32000 "$tmp/swap" 2>/dev/null; then
	swap=$tmp/swap
	before=$(of_worker RssAnon)
	said=$(suspend a --to swap)
	is a_tenant_is_suspended_to_swap "$(state a)" suspended
	like the_command_says_how_much_went_there "$said" "info: [3-9][0-9] MiB of its workers. memory went to swap"
	ok most_of_what_its_worker_had_is_there eval '[ "$(of_worker VmSwap)" -ge 32768 ]'
	ok and_not_in_memory eval '[ "$(of_worker RssAnon)" -lt "$before" ] && [ "$(of_worker RssAnon)" -lt 16384 ]'
	resume a >/dev/null
	is it_is_resumed "$(state a)" running
	next x
	is its_program_goes_on "$(said x)" "ok ok ok ok "
	want=$("$wormhole" run --tenant a -- "$computes" 3000 | tail -n 1)
	"$wormhole" run --tenant a -- "$computes" 3000 >"$tmp/disturbed" 2>&1 &
	computing=$!
	await grep -q began "$tmp/disturbed"
	errors=0
	for n in 1 2 3 4 5; do
		suspend a --to swap >"$tmp/said" && resume a >>"$tmp/said" || errors=$((errors + 1))
	done
	wait $computing
	is a_tenant_goes_to_swap_five_times "$errors" 0
	is values_are_those_of_a_run_that_nobody_disturbs "$(tail -n 1 "$tmp/disturbed")" "$want"
else
	for n in a_tenant_is_suspended_to_swap the_command_says_how_much_went_there \
		most_of_what_its_worker_had_is_there and_not_in_memory it_is_resumed its_program_goes_on \
		a_tenant_goes_to_swap_five_times values_are_those_of_a_run_that_nobody_disturbs; do
		skip $n "no swap file can be made here"
	done
fi
finish_client x
finish
