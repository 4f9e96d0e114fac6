#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a forged claim to a device costs little: a worker can write only its own
# tenant's seat, and no claim holds up other tenants for longer than that tenant's share allows.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

seats=$WORMHOLE_DIR/tenants/turns/seats
# seat_of PID prints the seat of a worker's tenant, which is the seat file that the worker has
# mapped writable.
seat_of() { sed -n 's|.* rw-s .*/turns/seats/\([0-9]*\)$|\1|p' "/proc/$1/maps" | sort -u; }
maps_of() { sed -n "s|.* $2 .*/turns/seats/\([a-z0-9]*\)$|\1|p" "/proc/$1/maps" | sort -u | tr '\n' ' '; }
worker_of() { field "$1" "t['workers'][0]['pid']"; }
# lie ID runs seat.c with the seat of a tenant until it is killed. Call it in the background only,
# because it becomes that program by exec.
lie() {
	for f in $(seq 4 "$fd"); do eval "exec $f>&-"; done
	exec "$WH_BUILD/tests/attack/bin/seat" "$seats/$1"
}
launches() { timeout 30 "$wormhole" run --tenant "$1" -- "$client" launch=4000 2>&1; }

plan 11
serve
"$wormhole" tenant create liar --sm 30
"$wormhole" tenant create honest --sm 40
start a --tenant liar -- launch=10
start b --tenant honest -- launch=10
a=$(worker_of liar)
b=$(worker_of honest)
is a_worker_writes_one_seat "$(seat_of "$a" | wc -l)" 1
ok which_is_its_tenants eval '[ "$(seat_of "$a")" != "$(seat_of "$b")" ]'
is it_reads_the_board "$(maps_of "$a" r--s | grep -c board)" 1
is it_reads_the_others_seats "$(maps_of "$b" r--s | tr ' ' '\n' | grep -cx "$(seat_of "$a")")" 1
if [ "$(id -u)" = 0 ]; then
	is nobody_else_can_read_them "$(setpriv --reuid 65534 --clear-groups test -r "$seats/board"; echo $?)" 1
else
	skip nobody_else_can_read_them "needs root"
fi
id=$(seat_of "$a")
lie "$id" >"$tmp/lie" &
lie_pid=$!
trap 'kill -KILL $lie_pid 2>/dev/null; clean_up' EXIT
await grep -q lying "$tmp/lie"
is others_go_on_whatever_a_tenant_claims "$(launches honest)" ok
ok liar_was_at_work_all_the_time kill -0 $lie_pid
finish_client a
kill -KILL "$b"
is they_go_on_when_its_workers_are_gone "$(launches honest)" ok
"$wormhole" tenant delete liar
ok its_seat_goes_with_its_tenant [ ! -e "$seats/$id" ]
is and_its_claims "$(launches honest)" ok
kill -KILL $lie_pid
wait $lie_pid 2>/dev/null
finish_client b
"$wormhole" tenant delete honest --force
"$wormhole" stop
ok nothing_is_left_in_the_folder [ ! -e "$WORMHOLE_DIR/tenants" ]
finish
