#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a worker which asks for room under `serve --overcommit' makes nobody leave a
# device that its tenant does not have (wants_room.c).
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

export WORMHOLE_SOFTGPU_MEM=64M,64M WORMHOLE_SOFTGPU_BIND=1
M=1048576
books=$(mktemp /dev/shm/books.XXXXXX)
export WORMHOLE_SOFTGPU_BOOKS="$books"
trap 'clean_up; rm -f "$books"' EXIT
wants() { "$WH_BUILD/tests/attack/bin/wants_room" "$WORMHOLE_DIR/tenants/hostile.usage" "$1"; }
parkings() { "$wormhole" metrics | sed -n "s/^wormhole_parkings_total{tenant=\"$1\".*} //p"; }

plan 5
serve --nvml none --worker-uid none --overcommit=100ms
"$wormhole" tenant create hostile --mem 48M --devices 0
"$wormhole" tenant create beside --mem 48M --devices 0
"$wormhole" tenant create other --mem 48M --devices 1
start h --tenant hostile -- alloc=4096
start b --tenant beside -- alloc=$((8 * M))
start o --tenant other -- alloc=$((40 * M)) ready line copy=65536
is it_gets_no_room_of_another_tenants_device "$(wants 1)" none
is and_that_tenant_stays "$(parkings other)" 0
is nor_of_a_device_that_is_none "$(wants 15)" none
is on_its_own_device_others_leave_for_it "$(wants 0) $(parkings beside)" "made 1"
next o
is the_other_tenant_notices_nothing "$(said o)" "ok ok "
for c in h b o; do finish_client $c; done
finish
