#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that `wormhole move` lets a tenant go on on another device of the same kind, as if
# nothing had been; that its limits, figures and files go with it; and that what is refused, or ends in
# the middle, loses nothing. The devices are softgpu's: two of one kind, and one of another.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/tenant/books.sh"

uuid=GPU-776f726d-686f-6c65-2d73-6f6674677076	# of device 1
export WORMHOLE_SOFTGPU_MEM=64M,64M,48M
move() { timeout 60 "$wormhole" move "$@" 2>&1; }
devices() { field "$1" "' '.join('%d:%d' % (x['device'], x['memory'] >> 20) for x in t['devices'])"; }
# What the driver has on devices 0 and 1 (softgpu/driver/books.h), in MiB.
really() { od -An -tu8 -j64 -N16 "$books" | awk '{ printf "%d %d", $1 / 1048576, $2 / 1048576 }'; }

plan 43
STATE=$tmp/state serve --nvml none --worker-uid none

# A program that runs, and one that starts then.
"$wormhole" tenant create a --devices 0 --mem 50M --device 0:mem=40M
start x --tenant a -- alloc=4194304 ready line copy=65536 ready line launch=50 copy=65536 ready line copy=65536
is a_tenant_begins_on_its_device "$(devices a)" 0:4
is a_running_tenant_is_moved "$(move a --to 1)" ""
is it_has_the_other_device_then "$(devices a) $(state a)" "1:4 running"
next x
is its_program_goes_on "$(said x)" "ok ok "
is its_limit_goes_with_it "$(field a "d['memory_limit'] >> 20")" 40
like its_figures_too "$("$wormhole" metrics | grep '^wormhole_memory_bytes.*"a"')" 'device="1"} 4194304$'
like its_file_names_that_device "$(cat "$tmp/state/tenants.d/a.conf")" "$uuid"
like and_the_limit_by_its_number "$("$wormhole" tenant export a)" "device = 1:mem=40M"
"$wormhole" tenant create full --devices 0
start f --tenant full -- alloc=63000000
is a_new_program_is_there_too "$("$wormhole" run --tenant a -- "$client" alloc=20000000 copy=4096)" "ok
ok"
is limits_are_set_by_that_number "$("$wormhole" limit a --device 1:mem=48M; field a "d['memory_limit'] >> 20")" 48
like and_not_by_the_old_one "$("$wormhole" limit a --device 0:mem=48M 2>&1)" "device 0: the tenant was made without it"
"$wormhole" reload
is it_is_there_after_a_reload "$(devices a)" 1:4
next x
is its_program_goes_on_after_that "$(said x)" "ok ok ok ok "

# What is refused.
like a_full_device_is_refused_by_the_driver "$(move a --to 0)" \
	"tenant a is not moved: worker [0-9]* of program [0-9]*: cuCheckpointProcessRestore: CUDA_ERROR_OUT_OF_MEMORY (2).*; it goes on where it was"
is the_tenant_goes_on_where_it_was "$(devices a) $(state a)" "1:4 running"
next x
is with_all_that_it_had "$(said x)" "ok ok ok ok ok "
suspend a
like a_suspended_one_is_refused_so_too "$(move a --to 0)" "it stays suspended where it was"
is and_stays_suspended "$(state a)" suspended
resume a
finish_client f
finish_client x
fd=3
like a_device_of_another_kind_is_refused "$(move a --to 2)" \
	"device 2 (Wormhole softgpu, 48 MiB, 16 SMs) is of another kind than device 1"
like one_that_it_has_is_refused "$(move a --to "$uuid")" "tenant a has device 1 already"
like one_that_is_not_there_is_refused "$(move a --to 7)" "this server has 0 to 2"
like one_that_it_has_not_is_not_left "$(move a --to 2 --from 0)" "tenant a has not device 0"
like a_tenant_of_all_devices_has_no_other "$(move default --to 1 --from 0)" "tenant default has all devices"
"$wormhole" tenant create two --devices 0,2
like of_several_one_is_named "$(move two --to 1)" "tenant two has 2 devices: say by --from"
is then_it_is_moved "$(move two --to 1 --from 0; devices two)" "1:0 2:0"
is a_tenant_without_programs_comes_back "$(move a --to 0; devices a)" 0:0
like a_move_needs_a_device "$(move a)" "say the device by --to"

# Values, and shares of time on both devices.
want=$("$wormhole" run --tenant a -- "$computes" 3000 | tail -n 1)
"$wormhole" limit a --sm 50
"$wormhole" tenant create b --devices 1 --sm 50
"$wormhole" run --tenant a -- "$computes" 3000 >"$tmp/a" 2>&1 &
moving=$!
"$wormhole" run --tenant b -- "$computes" 3000 >"$tmp/b" 2>&1 &
other=$!
await grep -q began "$tmp/a"
for n in 1 0 1 0 1; do move a --to $n; done >"$tmp/moves"
wait $moving
is values_are_those_of_a_run_that_nobody_moves "$(cat "$tmp/moves")$(tail -n 1 "$tmp/a")" "$want"
wait $other
is and_so_are_those_of_a_neighbour "$(tail -n 1 "$tmp/b")" "$want"
is time_is_counted_where_it_is_now "$(field a "d['device'], d['gpu_ns'] > 0, d['sm_percent']")" "(1, True, 50)"

# A suspended tenant goes on elsewhere.
start x --tenant a -- alloc=4194304 ready line copy=65536 ready line copy=65536 ready line copy=65536 ready line copy=65536
suspend a
is a_suspended_tenant_is_moved "$(move a --to 0; devices a; state a)" "0:4
running"
next x
is its_program_goes_on_there "$(said x)" "ok ok "

# The process that asks the driver is killed while it waits for a worker, which then goes all the same.
w=$(worker a)
suspend a
halt "$w"
move a --to 1 >"$tmp/said" &
asking=$!
await helper
await grep -q . "$WORMHOLE_DIR/server.log"
kill -KILL "$(helper)"
wait $asking
like its_end_is_told "$(cat "$tmp/said")" "ended without an answer; it stays suspended"
kill -CONT "$w"
like another_way_is_refused_then "$(move a --to 2)" "half way from device 0 to device 1"
is and_the_tenant_can_come_back "$(resume a; devices a; state a; really)" "0:4
running
4 0"
next x
is with_nothing_lost "$(said x)" "ok ok ok "
suspend a
halt "$w"
move a --to 1 >"$tmp/said" &
asking=$!
await helper
kill -KILL "$(helper)"
wait $asking
kill -CONT "$w"
is or_be_moved_again "$(move a --to 1; devices a; state a; really)" "1:4
running
0 4"

# The server is killed in the middle.
halt "$w"
move a --to 0 >"$tmp/said" &
asking=$!
await helper
kill_alone
kill -CONT "$w"
wait $asking
is a_move_outlives_the_server_that_began_it "$?$(cat "$tmp/said") $(devices a) $(state a)" "0 0:4 running"
next x
is nothing_is_lost_by_that "$(said x)" "ok ok ok ok "
suspend a
halt "$w"
move a --to 1 >"$tmp/said" &
asking=$!
await helper
kill_alone "$(helper)"
kill -CONT "$w"
wait $asking
is nor_by_the_end_of_both "$(resume a; devices a; state a; really)" "0:4
running
4 0"
finish_client x
is the_program_ends_well "$?$(said x)" "0ok ok ok ok ok "
fd=3

# A next server makes the tenant on the device that it was moved to.
move a --to 1
"$wormhole" stop --force
STATE=$tmp/state serve --nvml none --worker-uid none
is a_next_server_knows_the_device "$(devices a)" 1:0
is and_its_programs_run_there "$("$wormhole" run --tenant a -- "$client" alloc=4096)" ok
"$wormhole" stop --force
finish
