#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the server survives when a tenant's files lose their memory while they
# are mapped, as after a full disk or a punched hole. The server goes on, other tenants notice
# nothing, and the files are whole again after the tenant's last worker has ended.
# isolation_test.sh tests that a worker cannot punch holes itself.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

M=1048576
tenants=$WORMHOLE_DIR/tenants
worker_of() { field "$1" "t['workers'][0]['pid']"; }
seat_of() { sed -n 's|.* rw-s .*/turns/seats/\([0-9]*\)$|\1|p' "/proc/$1/maps" | sort -u; }
magic() { head -c 8 "$1"; }
program() { timeout 40 "$wormhole" run --tenant "$1" -- "$client" alloc=$M launch=20 2>&1 | tr '\n' ' '; }

plan 10
serve
"$wormhole" tenant create bad --mem 64M --sm 30
"$wormhole" tenant create good --mem 64M --sm 40
first=$(server)
start b --tenant good -- alloc=$M

start a --tenant bad -- alloc=$M
a=$(worker_of bad)
size=$(stat -c %s "$tenants/bad.usage")
: >"$tenants/bad.usage"
kill -KILL "$a"
await gone "$a"
finish_client a 2>/dev/null
is server_goes_on_when_a_tenants_file_is_cut_off "$(program good)" "ok ok "
is and_is_the_same "$(server) $(kill -0 "$first" && echo lives)" "$first lives"
like log_has_what_was_lost_and_where "$(cat "$WORMHOLE_DIR/server.log")" "has lost memory below it (.* at $tenants)"
is file_is_whole_again_with_its_last_worker "$(stat -c %s "$tenants/bad.usage")" "$size"
is next_program_of_the_tenant_is_served "$(program bad)" "ok ok "
start c --tenant bad -- alloc=$M
is and_counted "$(field bad "d['memory'] >= $M, len(t['workers'])")" "(True, 1)"

id=$(seat_of "$(worker_of bad)")
kept=$(magic "$tenants/turns/seats/$id")
fallocate -p -o 0 -l 4096 "$tenants/turns/seats/$id" 2>/dev/null || dd if=/dev/zero of="$tenants/turns/seats/$id" \
	bs=4096 count=1 conv=notrunc 2>/dev/null
is others_go_on_beside_a_spoilt_seat "$(program good)" "ok ok "
finish_client c
await has_workers 1
is it_is_made_anew_with_its_last_worker "$(magic "$tenants/turns/seats/$id") $kept" "WHWTSEAT WHWTSEAT"
is and_the_tenant_has_its_turns_again "$(program bad)" "ok ok "
finish_client b
is nobody_else_has_lost_anything "$(said b)" "ok "
finish
