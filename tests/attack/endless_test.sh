#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises limits for kernels that never end, under a share of time. The server counts
# such kernels while they run, and ends them when they hold the device for longer than
# --max-kernel allows. The tenant pays for them when their process is killed. The test runs over
# softgpu, or over another driver that WH_BACKEND names.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

endless=$WH_BUILD/tests/attack/bin/endless
# run TENANT WORD prints what the program said, or `stopped` after a minute.
run() { timeout 60 "$wormhole" run --tenant "$1" -- "$endless" $2 2>/dev/null || echo stopped; }
gpu_ms() { field "$1" "d['gpu_ns'] // 1000000"; }
more_than() { [ "$(gpu_ms "$1")" -gt "$2" ]; }
seconds() { date +%s; }
# busy TENANT prints the tenant's use of the GPU, in percent of the time between two looks.
busy() {
	"$wormhole" top --json --once | /usr/bin/python3 -c \
		"import json,sys; print([int(t['sm_got_percent']) for t in json.load(sys.stdin)['tenants'] if t['tenant'] == '$1'][0])"
}
log() { cat "$WORMHOLE_DIR/server.log"; }
# stay TENANT starts a program in the background; its worker is at work when the function returns.
stay() {
	"$wormhole" run --tenant "$1" -- "$endless" stay >"$tmp/stay" 2>/dev/null &
	stay_pid=$!
	await grep -q 'under way' "$tmp/stay"
}
kill_it() {
	kill -KILL $stay_pid 2>/dev/null
	wait $stay_pid 2>/dev/null
	await field_is "$1" "len(t['workers'])" 0
}

plan 20
is a_limit_that_is_no_time_is_refused "$("$wormhole" serve --backend softgpu --max-kernel soon 2>&1 | grep -c "'soon' is not a time such as 2 or 500ms")" 1
[ -n "$WH_BACKEND" ] || export WORMHOLE_CUBLAS="$WH_BUILD/softgpu/libcublas.so.13"
serve_device --max-kernel 400ms
"$wormhole" tenant create short --sm 50
is the_servers_limit_is_that_of_its_tenants "$(field short "t['max_kernel_ms']")" 400
is an_endless_kernel_ends_with_the_launch_timeout_in_its_program "$(run short)" "702 702 702"
for how in copy free product; do
	like "so_it_does_where_the_program_waits_in_a_$how" "$(run short $how)" "^702 "
done
like the_log_says_why "$(log)" "worker of short: .*held the device for longer than --max-kernel allows"
ok it_was_counted more_than short 390
# The tenant owes 400 ms and gets back half of the time that passes.
is and_the_next_program_works_when_that_is_paid "$(run short once)" 0
ok which_has_waited eval '[ "$(field short "d[\"throttled_ns\"] // 1000000")" -gt 200 ]'

"$wormhole" tenant create long --sm 50 --max-kernel none
stay long
ok a_kernel_under_way_is_counted_while_it_runs await more_than long 1200
# The worker counts it now and then, and may be late to do so in one of top's two looks.
shows_busy() { [ "$(busy long)" -gt 80 ]; }
ok top_shows_it_busy tries 5 shows_busy
before=$(gpu_ms long)
ok metrics_show_it_too await eval '"$wormhole" metrics | grep "gpu_seconds_total.*long" | grep -qv " 0$"'
ok without_a_limit_it_is_not_ended kill -0 $stay_pid
is nor_is_its_neighbour_stopped "$(run short once)" 0
"$wormhole" limit long --max-kernel 500ms
ok a_limit_ends_one_that_is_under_way await field_is long "len(t['workers'])" 0
kill_it long

# A process that is killed leaves its debt to its tenant: the tenant's next program waits until the
# share of 20 % has paid for it.
"$wormhole" tenant create killed --sm 20
"$wormhole" limit killed --max-kernel none
stay killed
await more_than killed 600
kill_it killed
owed=$(gpu_ms killed)
ok what_a_killed_process_had_under_way_is_charged [ "$owed" -gt 590 ]
from=$(seconds)
is the_next_one_works "$(run killed once)" 0
ok when_it_has_paid_for_that [ $(($(seconds) - from)) -ge 2 ]
ok and_did_wait eval '[ "$(field killed "d[\"throttled_ns\"] // 1000000")" -gt 1500 ]'
finish
