#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises a tenant's limit of host memory that workers keep in place for its programs:
# their parts and what is pinned besides.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

M=1048576
run() { "$wormhole" run "$@"; }
held() { field "$1" "t['host_memory'] // $M"; }
machine=$(($(getconf _PHYS_PAGES) * $(getconf PAGESIZE)))

plan 22
serve
"$wormhole" tenant create a --host-mem 100M
is half_of_the_machine_is_the_default "$(field default "t['host_memory_limit']")" $((machine / 2))
is limit_is_shown "$(field a "t['host_memory_limit']")" $((100 * M))
is program_within_it_pins "$(run --tenant a -- "$client" pin=$((80 * M)))" ok
await has_workers 0
is program_beyond_it_does_not "$(run --tenant a -- "$client" pin=$((90 * M)))" CUDA_ERROR_OUT_OF_MEMORY
is ended_programs_hold_nothing "$(await has_workers 0; held a)" 0

start one --tenant a -- pin=$((40 * M)) ready line unpin ready line pin=$((60 * M)) pin=$((25 * M))
is parts_and_pinned_memory_are_charged "$(held a)" 56
is two_programs_share_one_limit "$(run --tenant a -- "$client" pin=$((32 * M)))" CUDA_ERROR_OUT_OF_MEMORY
# The worker of a program that has ended holds its part for a moment. The cgroup's figure of pages that nobody
# has mapped lags behind by some pages for each CPU.
await has_workers 1
is what_is_left_can_be_had "$(run --tenant a -- "$client" pin=$((27 * M)))" ok
is other_tenants_have_their_own "$(run --host-mem 100M -- "$client" pin=$((80 * M)))" ok
await has_workers 1
is refusals_are_counted "$(field a "t['host_refused']")" 2
next one
is unpinned_memory_is_given_back "$(held a)" 16
like it_is_in_the_table "$("$wormhole" stat a)" " 16\.[01]M *100M "
like and_in_prometheus "$("$wormhole" metrics)" '^wormhole_host_memory_limit_bytes{tenant="a",user="'"$(id -un)"'"} 104857600'
"$wormhole" limit a --host-mem 80M
next one
await eval '[ "$(said one | wc -w)" = 4 ]'
is lower_limit_is_felt_by_a_running_program "$(said one)" "ok ok ok CUDA_ERROR_OUT_OF_MEMORY "
is other_limits_stay_as_they_are "$(field a "t['host_memory_limit'], d['memory_limit']")" "($((80 * M)), 0)"
kill -9 "$(workers)"
await has_workers 0
finish_client one
ok killed_worker_and_its_program_hold_nothing await eval '[ "$(held a)" = 0 ]'

# There is no room for this part.
"$wormhole" tenant create small --host-mem 20M
start two --tenant small -- alloc=4096
like program_without_room_for_its_part_is_told_why "$(run --tenant small -- "$client" alloc=4096 2>&1)" \
	"tenant small: 20 MiB of host memory have no room for a part of 16 MiB; give more by --host-mem"
is its_first_program_goes_on "$(held small)" 16
finish_client two
"$wormhole" limit small --host-mem none
is none_is_no_limit "$(run --tenant small -- "$client" pin=$((64 * M)))" ok

like bad_size_is_named "$("$wormhole" limit a --host-mem lots 2>&1)" "host-mem: 'lots' is not a size"
is and_changes_nothing "$(field a "t['host_memory_limit']")" $((80 * M))
"$wormhole" stop
serve --host-mem 64M
is option_of_serve_is_the_default_tenants "$(field default "t['host_memory_limit']")" $((64 * M))
finish
