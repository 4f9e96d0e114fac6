#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises how many requests of a step are waited for: a step of a small layer and a value
# that comes to pageable memory wait once, a wait that has nothing to wait for makes no request, and
# an event comes and goes without one that is waited for.
. "$(dirname "$0")/lib.sh"

# made KIND STEPS: prints how many requests were made, and how many waited for.
made() {
	WORMHOLE_STATS=1 timeout 60 "$bin/rounds" "$1" "$2" 2>&1 >/dev/null |
		sed -n 's/^wormhole: info: \([0-9]*\) requests[^0-9]*\([0-9]*\) .*/\1 \2/p'
}

# a_step KIND REQUESTS WAITED: a thousand steps more make so many in each.
a_step() {
	few=$(made "$1" 50) many=$(made "$1" 1050)
	[ -n "$few" ] && [ -n "$many" ] || return 1
	got="$(((${many% *} - ${few% *}))) $(((${many#* } - ${few#* })))"
	[ "$got" = "$(($2 * 1000)) $(($3 * 1000))" ] || { echo "# $1: $got of 1000 steps"; false; }
}

plan 7
start_server
a_step layer 4 1
point "step_of_a_small_layer_waits_once"
a_step apart 4 2
point "it_waits_for_its_copy_where_a_stream_does_not_block"
a_step shared 4 2
point "and_where_another_process_may_see_the_memory"
a_step value 3 1
point "value_that_comes_to_pageable_memory_is_waited_for_once"
a_step waits 2 1
point "second_wait_for_a_stream_makes_no_request"
a_step copied 2 1
point "wait_behind_a_copy_that_was_posted_is_made"
few=$(made event 50) many=$(made event 1050)
diag "a thousand steps with an event: ${many% *} - ${few% *} requests, ${many#* } - ${few#* } waited for"
[ -n "$few" ] && [ $((${many% *} - ${few% *})) = 3000 ] && [ $((${many#* } - ${few#* })) -le 2 ]
point "event_of_each_step_is_made_recorded_and_ended_without_a_wait"
