#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that processes share memory of cuMemCreate by descriptors only within a
# tenant, and that no memory goes uncounted meanwhile.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

M=1048576
run() { "$wormhole" run "$@"; }
used() { field c "d['memory']"; }

plan 10
serve
"$wormhole" tenant create b --mem 64M
"$wormhole" tenant create c --mem 96M
start maker --tenant c -- create="$tmp/m" map ready line unmap ready wait
start taker --tenant c -- import="$tmp/m" map ready line unmap ready line import="$tmp/m"
is allocation_of_the_tenant_is_imported "$(said taker)" "ok ok "
is importing_costs_nothing "$(used)" $((64 * M))
is mapped_without_a_handle_it_is_still_imported "$(run --tenant c -- "$client" import="$tmp/m")" ok
is that_of_another_tenant_is_none "$(run --tenant b -- "$client" import="$tmp/m")" CUDA_ERROR_INVALID_VALUE
is what_is_no_number_is_none "$(head -c 64 /dev/zero >"$tmp/z"; run --tenant c -- "$client" import="$tmp/z")" \
	CUDA_ERROR_INVALID_VALUE
next maker
is unmapped_by_its_owner_it_is_charged_while_mapped "$(used)" $((64 * M))
is and_is_not_imported_any_more "$(run --tenant c -- "$client" import="$tmp/m")" CUDA_ERROR_INVALID_VALUE
next taker
is unmapped_everywhere_it_is_given_back "$(used)" 0
finish_client taker
is and_not_imported_by_who_had_it "$(said taker | cut -d ' ' -f 4)" CUDA_ERROR_INVALID_VALUE
start heir --tenant c -- create="$tmp/m" ready wait
start late --tenant c -- import="$tmp/m" ready wait
kill -9 "$(pid heir)"
await has_workers 2
is left_behind_by_its_owner_it_is_charged "$(used)" $((64 * M))
finish_client late
finish_client maker
finish
