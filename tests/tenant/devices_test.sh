#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises tenants that have some of a machine's devices (--devices), over a driver of
# four devices that do nothing.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

shm=$WH_BUILD/tests/shm/bin
unset CUDA_DEVICE_ORDER
names() { "$wormhole" run "$@" -- "$shm/devices" names 2>&1; }
# refuses WORD COMMAND... checks that the command fails and that its line has the word.
refuses() {
	word=$1
	shift
	! said=$("$wormhole" "$@" 2>&1) && case $said in *"$word"*) true ;; *) false ;; esac
}

plan 15
"$wormhole" serve --backend "$shm/fake_devices.so" --daemon --part-size 16M >"$tmp/serve" 2>&1 ||
	diag "$(cat "$tmp/serve")"
is tenant_without_a_word_has_all "$(names)" "device 0, device 1, device 2, device 3"
is programs_see_the_tenants_devices_alone "$(names --devices 1,3)" "device 1, device 3"
is in_the_drivers_order "$(names --devices 3,1)" "device 1, device 3"
is devices_are_named_by_uuids_too "$(names --devices GPU-12121212-1212-1212-1212-121212121212,0)" \
	"device 0, device 2"
is programs_number_their_own "$(CUDA_VISIBLE_DEVICES=1 names --devices 1,3)" "device 3"
is and_cannot_name_others "$(CUDA_VISIBLE_DEVICES=2 names --devices 1,3)" "error 100"
is nor_by_their_uuids "$(CUDA_VISIBLE_DEVICES=GPU-12121212 names --devices 1,3)" "error 100"

"$wormhole" tenant create some --devices 2 --mem 1G >"$tmp/out" 2>&1 || diag "$(cat "$tmp/out")"
is stat_has_no_others "$(field some "[x['device'] for x in t['devices']]")" "[2]"
"$wormhole" limit some --mem 2G
is limit_is_that_of_its_devices "$(field some "d['memory_limit'] >> 30")" 2
is metrics_have_no_others "$("$wormhole" metrics | sed -n 's/^wormhole_.*memory_bytes.*"some",.*device="\([0-9]*\)".*/\1/p' |
	sort -u | tr '\n' ' ')" "2 "

ok device_that_is_not_there_is_refused refuses "0 to 3" tenant create bad --devices 9
ok so_is_one_said_twice refuses "twice" tenant create bad --devices 1,GPU-11111111-1111-1111-1111-111111111111
ok so_is_a_uuid_that_nobody_has refuses "GPU-99" tenant create bad --devices GPU-99
ok so_is_a_limit_of_another_device refuses "device 0: the tenant was made without it" tenant create bad --devices 1 --device 0:mem=1G
ok so_is_an_empty_list refuses "names no device" tenant create bad --devices ,
"$wormhole" stop >"$tmp/out" 2>&1
finish
