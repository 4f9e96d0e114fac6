#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that processes share memory pools only within a tenant, and that what others have
# open of a pool is charged when its owner has freed it, has destroyed the pool, or has ended.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

M=1048576
run() { "$wormhole" run "$@"; }
used() { field a "d['memory']"; }
memory_is() { [ "$(used)" = "$1" ]; }

plan 14
serve
"$wormhole" tenant create a --mem 64M
"$wormhole" tenant create b --mem 64M
start owner --tenant a -- pool="$tmp/p" ready line freepool ready line endpool ready line alloc=$((40 * M))
start user --tenant a -- takepool="$tmp/p" ready line freepool ready line endpool ready wait
is pool_of_the_tenant_is_imported_with_its_memory "$(said user)" "ok "
is importing_costs_nothing "$(used)" $((40 * M))
is that_of_another_tenant_is_none "$(run --tenant b -- "$client" takepool="$tmp/p")" CUDA_ERROR_INVALID_VALUE
cp "$tmp/p.memory" "$tmp/own.memory"
start other --tenant b -- pool="$tmp/own" ready wait
cp "$tmp/p.memory" "$tmp/own.memory"
is nor_is_its_memory_in_a_pool_of_ones_own "$(run --tenant b -- "$client" takepool="$tmp/own")" \
	CUDA_ERROR_INVALID_VALUE
finish_client other
ok drivers_handle_is_not_in_it test "$(tail -c 40 "$tmp/p.memory" | tr -d '\0' | wc -c)" = 0
next owner
is freed_by_its_owner_it_is_charged_while_open "$(used)" $((40 * M))
next owner
is and_when_its_pool_is_destroyed "$(used)" $((40 * M))
is nobody_imports_it_any_more "$(run --tenant a -- "$client" takepool="$tmp/p")" CUDA_ERROR_INVALID_VALUE
is it_leaves_no_room_for_more "$(run --tenant a -- "$client" alloc=$((40 * M)))" CUDA_ERROR_OUT_OF_MEMORY
next user
is the_pool_alone_keeps_it "$(used)" $((40 * M))
next user
is destroyed_everywhere_it_is_given_back "$(used)" 0
finish_client owner
is then_there_is_room "$(said owner)" "ok ok ok ok "
finish_client user

start owner --tenant a -- pool="$tmp/p" ready wait
start heir --tenant a -- takepool="$tmp/p" ready wait
kill -9 "$(pid owner)"
await has_workers 1
is left_behind_by_its_owner_it_is_charged "$(used)" $((40 * M))
finish_client heir
await memory_is 0
is the_last_ones_end_gives_it_back "$(used)" 0
finish
