#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that processes share memory and events (CUDA IPC) only within a tenant and for
# as long as their owner lives, and that no memory goes uncounted meanwhile.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

M=1048576
run() { "$wormhole" run "$@"; }
used() { field a "d['memory']"; }
memory_is() { [ "$(used)" = "$1" ]; }

plan 27
# Of ipc_paged_test.sh; words are to be split.
# shellcheck disable=SC2086
serve $IPC_OPTIONS
"$wormhole" tenant create a --mem 64M
"$wormhole" tenant create b --mem 64M

start owner --tenant a -- alloc=$((40 * M)) export="$tmp/h" ready line free ready line alloc=$((40 * M)) \
	ready line alloc=$((40 * M)) export="$tmp/h2" event="$tmp/e"
is memory_of_the_tenant_is_opened "$(run --tenant a -- "$client" open="$tmp/h")" ok
is that_of_another_tenant_is_unknown "$(run --tenant b -- "$client" open="$tmp/h")" CUDA_ERROR_INVALID_HANDLE
is nor_is_it_the_default_tenants "$(WORMHOLE_TRANSPORT=shm WORMHOLE_SOCKET="$WORMHOLE_DIR/server.sock" \
	LD_LIBRARY_PATH="$WH_BUILD/client-stubs" "$client" open="$tmp/h")" CUDA_ERROR_INVALID_HANDLE
# The byte is the last one of a random number, and may be any.
wrong=x
[ "$(head -c 24 "$tmp/h" | tail -c 1 | tr -d '\0')" != x ] || wrong=y
head -c 23 "$tmp/h" >"$tmp/forged"
printf '%s' $wrong >>"$tmp/forged"
tail -c 40 "$tmp/h" >>"$tmp/forged"
is one_wrong_byte_is_unknown "$(run --tenant a -- "$client" open="$tmp/forged")" CUDA_ERROR_INVALID_HANDLE
head -c 63 "$tmp/h" >"$tmp/forged"
printf 'x' >>"$tmp/forged"
is what_is_no_handle_is_refused "$(run --tenant a -- "$client" open="$tmp/forged")" CUDA_ERROR_INVALID_VALUE
ok drivers_handle_is_not_in_it test "$(tail -c 40 "$tmp/h" | tr -d '\0' | wc -c)" = 0

# Here the test checks which tenant pays.
start user --tenant a -- open="$tmp/h" ready line close ready line
is opening_costs_nothing "$(used)" $((40 * M))
next owner
is freed_by_its_owner_it_is_charged_while_open "$(used)" $((40 * M))
next owner
is and_leaves_no_room_for_more "$(said owner)" "ok ok ok CUDA_ERROR_OUT_OF_MEMORY "
is nobody_opens_it_any_more "$(run --tenant a -- "$client" open="$tmp/h")" CUDA_ERROR_INVALID_HANDLE
next user
is closed_it_is_given_back "$(used)" 0
next owner
is then_there_is_room "$(said owner)" "ok ok ok CUDA_ERROR_OUT_OF_MEMORY ok ok ok "
is event_of_the_tenant_is_opened "$(run --tenant a -- "$client" openevent="$tmp/e")" ok
is event_of_another_tenant_is_unknown "$(run --tenant b -- "$client" openevent="$tmp/e")" \
	CUDA_ERROR_INVALID_HANDLE

start heir --tenant a -- open="$tmp/h2" ready wait
kill -9 "$(pid owner)"
await has_workers 2
is memory_of_a_dead_owner_is_charged_while_open "$(used)" $((40 * M))
is and_counts_for_the_limit "$(run --tenant a -- "$client" alloc=$((40 * M)))" CUDA_ERROR_OUT_OF_MEMORY
is its_handle_is_stale "$(run --tenant a -- "$client" open="$tmp/h2")" CUDA_ERROR_INVALID_HANDLE
is and_so_is_that_of_its_event "$(run --tenant a -- "$client" openevent="$tmp/e")" CUDA_ERROR_INVALID_HANDLE
finish_client heir
await memory_is 0
is the_last_ones_end_gives_it_back "$(used)" 0
# The lowest free account is taken first: one of these has the account of the heir.
start one --tenant a -- ready wait
start two --tenant a -- ready wait
is who_gets_the_slot_of_a_dead_one_has_nothing_open "$(used)" 0
for name in user one two; do finish_client $name; done

# Memory ends with its own context, whichever context was current when it was exported. (dash
# knows descriptors of one digit: those of the clients above are free.)
fd=3
start owner --tenant a -- context alloc=$((40 * M)) first export="$tmp/h3" ready line destroy ready wait
start user --tenant a -- open="$tmp/h3" ready wait
next owner
is memory_of_an_ended_context_is_charged_while_open "$(used)" $((40 * M))
finish_client user
finish_client owner
start owner --tenant a -- alloc=$((40 * M)) context export="$tmp/h4" ready line destroy ready line free ready wait
next owner
is that_of_a_living_one_is_opened_though_another_ended "$(run --tenant a -- "$client" open="$tmp/h4")" ok
next owner
is and_is_given_back "$(used)" 0
finish_client owner

# The table has room for 4096 objects.
start many --tenant b -- share=5000 ready line end ready
is full_table_is_out_of_memory "$(said many)" "4096 CUDA_ERROR_OUT_OF_MEMORY "
is for_all_of_the_tenant "$(run --tenant b -- "$client" share=1)" "0 CUDA_ERROR_OUT_OF_MEMORY"
is but_for_no_other_tenant "$(run --tenant a -- "$client" share=10)" "10 ok"
next many
is ended_events_make_room "$(run --tenant b -- "$client" share=4096)" "4096 ok"
finish
