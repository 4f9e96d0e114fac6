#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The driver's cache of compiled code: a folder for each tenant, which its workers
# share, nobody else reads, and nothing is left of, however a worker fills it.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

bin=$WH_BUILD/tests/tenant/bin
# What the last worker said of WHAT.
got() {
	grep -o "[ ;] $1 [^;]*" "$WORMHOLE_DIR/server.log" | tail -n 1 | sed "s/^. $1 //"
}
intrude() {
	INTRUDER="$WORMHOLE_DIR" serve --backend "$bin/intruder.so" --libraries "$WH_BUILD/softgpu" \
		--nvml none "$@"
	"$wormhole" tenant create a --mem 64M
	"$wormhole" tenant create b --mem 64M
}
run() { "$wormhole" run --tenant "$1" -- "$client" alloc=4096 >/dev/null 2>&1; }

if [ "$(id -u)" != 0 ] || ! setpriv --reuid 30123 --clear-groups test -r "$WH_BUILD/softgpu/libcuda.so.1"; then
	plan 1
	skip caches_of_tenants "needs root and a build folder that others may read"
	finish
fi
plan 9
intrude
run a
is first_worker_finds_an_empty_cache "$(got cache_kept)" ENOENT
at_a=$(got cache_at)
is and_can_write_there "$(got cache_make)" done
run a
is next_worker_finds_what_it_wrote "$(got cache_kept)" done
run b
at_b=$(got cache_at)
is other_tenants_worker_does_not "$(got cache_kept)" ENOENT
is and_opens_no_cache_but_its_own "$(got cache_others)" 0
await has_workers 0
"$wormhole" tenant delete a
ok cache_goes_with_its_tenant await eval '[ -d "$at_b" ] && [ ! -e "$at_a" ]'
"$wormhole" stop >/dev/null 2>&1
ok nothing_is_left_of_a_server_that_stops await eval '[ -n "$at_b" ] && [ ! -e "$at_b" ]'

intrude
run a
at_a=$(got cache_at)
kill -9 "$(server)"
await eval '! kill -0 $(server)'
intrude
run a
run b
"$wormhole" stop >/dev/null 2>&1
ok nor_of_one_that_was_killed_once_the_next_has_run await eval '[ -n "$at_a" ] && [ ! -e "$at_a" ]'

intrude --worker-uid none
run a
is without_users_there_is_none "$(got cache)" "off 1"
finish
