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

plan 13
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
	finish_client x
	"$wormhole" stop --force
	fd=3

	# What has left its device for others is in memory, and the driver takes it nowhere else from there.
	books=$(mktemp /dev/shm/books.XXXXXX)
	export WORMHOLE_SOFTGPU_MEM=64M WORMHOLE_SOFTGPU_BIND=1 WORMHOLE_SOFTGPU_BOOKS="$books"
	serve --nvml none --worker-uid none --overcommit=100ms
	for t in p q; do
		"$wormhole" tenant create $t --mem 48M
		start $t --tenant $t -- alloc=41943040 copy=65536
	done
	like a_parked_tenant_is_not_said_to_be_in_swap "$(suspend p --to swap)" "tenant p has left its device for others"
	is and_stays_as_it_is "$(states p q)" "parked running "
	for t in p q; do
		"$wormhole" tenant delete $t --force
		finish_client $t 2>/dev/null
	done
	rm -f "$books"
else
	for n in a_tenant_is_suspended_to_swap the_command_says_how_much_went_there \
		most_of_what_its_worker_had_is_there and_not_in_memory it_is_resumed its_program_goes_on \
		a_tenant_goes_to_swap_five_times values_are_those_of_a_run_that_nobody_disturbs \
		a_parked_tenant_is_not_said_to_be_in_swap and_stays_as_it_is; do
		skip $n "no swap file can be made here"
	done
	finish_client x
fi
finish
