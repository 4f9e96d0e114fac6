#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a tenant's clients together cannot pin more memory than the tenant's
# limit, whatever they request, and that none of it stays pinned after they have ended.
# tests/tenant/host_memory_test.sh tests ordinary programs.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

M=1048576
serve
"$wormhole" tenant create greedy --host-mem 100M
"$wormhole" tenant create other --host-mem 100M
start b --tenant other -- pin=$((40 * M))
"$wormhole" run --tenant greedy -- "$WH_BUILD/tests/attack/bin/pinned" >"$tmp/said" 2>&1
take_over "$tmp/said" 14 17
await has_workers 1
is nothing_is_held_when_they_have_ended "$(field greedy "t['host_memory']")" 0
is other_tenants_have_theirs_meanwhile "$(field other "t['host_memory']")" $((56 * M))
is refusals_are_on_its_account "$(field other "t['host_refused']") $(field greedy "t['host_refused'] > 5")" "0 True"
finish_client b
finish
