#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the place in the host's memory to which overcommit's workers move a tenant's
# memory is made by several threads, and while another tenant waits; and that a worker that ends in the
# middle leaves nothing. The device has 256 MiB, so that a place has several parts.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/tenant/books.sh"

export WORMHOLE_SOFTGPU_MEM=256M
begin() {
	await is_empty
	fd=3
	serve --nvml none --worker-uid none "$@"
	for t in a b; do "$wormhole" tenant create "$t" --mem 200M; done
}
# Memory that is a worker's alone, in MiB.
own_memory() { awk '/^RssAnon/ { print int($2 / 1024) }' "/proc/$(worker a)/status"; }
has_grown() { [ "$(own_memory)" -ge $(($1 + $2)) ]; }
is_past() { [ "$(now_ms)" -ge "$1" ]; }

plan 8

begin --overcommit=1
start_paged x a fill=140 ready line check ready line check
start_paged y b fill=140 ready line check ready line
for n in 1 2; do
	next x
	next y
done
is values_are_kept_in_a_place_of_several_parts "$(said x)$(said y)" "fill ok good good fill ok good "
is all_of_it_is_pinned "$("$wormhole" logs 2>&1 | grep -c 'are not pinned')" 0
finish_client x
finish_client y
"$wormhole" stop --force

# A worker stops when it is about to make the place, and never goes on.
export WORMHOLE_WORKER_ENV=LD_PRELOAD LD_PRELOAD="$WH_BUILD/tests/tenant/bin/pauses.so"
begin --overcommit=1
unset WORMHOLE_WORKER_ENV LD_PRELOAD
start_paged x a fill=140
idle=$(($(now_ms) + 1200))
await is_past $idle
start y --tenant b -- ready line alloc=$((160 * M))
go y
w=$(worker a)
ok a_worker_is_in_the_middle_of_it await halted "$w"
is its_tenant_is_on_its_way "$(state a)" suspending
kill -KILL "$w"
# softgpu's books do not know the end of a process yet (books.sh).
await eval '[ -n "$(said y)" ]'
like its_end_is_an_answer_for_who_waits "$(said y)" "^ok $\|^CUDA_ERROR_OUT_OF_MEMORY $"
finish_client x 2>/dev/null
finish_client y
ok nothing_of_it_stays_on_the_device await is_empty
is its_tenants_next_program_has_the_device \
	"$(timeout 60 "$wormhole" run --tenant a -- "$client" alloc=$((160 * M)) 2>&1) $(state a)" "ok running"
"$wormhole" stop --force

# Two tenants of which one computes, for as long as this takes.
begin --overcommit=100
timeout 120 "$wormhole" run --tenant a -- "$computes" 1000000 $((160 * M)) >"$tmp/x" 2>&1 &
x=$!
await grep -q began "$tmp/x"
before=$(own_memory)
start y --tenant b -- ready line alloc=$((160 * M))
go y
ok a_place_is_made_while_another_tenant_waits await has_grown "$before" 150
diag "before $before MiB, then $(own_memory) MiB, $(state a)"
kill -KILL "$x"
"$wormhole" stop --force
finish
