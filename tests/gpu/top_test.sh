#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises what `top` and `metrics` show of tenants that keep a GPU busy: shares asked
# for and got, the driver's own figures, CPU time. It takes half a minute.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
program=$WH_BUILD/tests/limits/bin/gpu_share
needs_programs "$program"
world_stop_server	# the test has its own server
wormhole=$WH_BUILD/host/wormhole
dir=$(mktemp -d)
export WORMHOLE_DIR=$dir/s
finish_all() {
	"$wormhole" stop --force >/dev/null 2>&1
	rm -rf "$dir"
	world_end
}
trap finish_all EXIT
trap 'exit 1' HUP INT PIPE TERM

# seen EXPRESSION evaluates an expression for a look over SECONDS_EACH seconds, with the JSON in o
# and the tenants by name in t.
seen() {
	"$wormhole" top --once --json --delay "${SECONDS_EACH:-4}" | python3 -c \
		"import json,sys; o=json.load(sys.stdin); t={e['tenant']: e for e in o['tenants']}; print(($1))"
}
busy() { # TENANT OPTION...: kernels of 100 us, one behind the other
	name=$1
	shift
	"$wormhole" run --tenant "$name" "$@" -- "$program" 100us 60 "$per_us" >"$dir/$name" 2>&1 &
	pids="$pids $!"
	await launches "$name"
}
launches() { "$wormhole" stat --json "$1" | grep -q '"launches":[[:space:]]*[1-9]'; }
metric() { "$wormhole" metrics | sed -n "s/^$1 //p"; }

plan 9
"$wormhole" serve --backend "$driver" --daemon >"$dir/said" 2>&1
per_us=$("$wormhole" run -- "$program" calibrate)
pids=
busy part --sm 40 --mem 2G
is the_share_that_was_asked_for_is_shown "$(seen "t['part']['sm_asked_percent'], t['part']['sm_policy'], t['part']['memory_limit']")" \
	"(40, 'temporal', 2147483648)"
if [ "$world_kind" = gpu ]; then
	like it_gets_its_share "$(seen "'got', t['part']['sm_got_percent'], 37 <= t['part']['sm_got_percent'] <= 43")" 'True'
	is the_driver_counts_its_memory "$(seen "t['part']['memory_driver'] > 0")" True
else
	skip it_gets_its_share "softgpu works on the CPUs that its clients need"
	skip the_driver_counts_its_memory "softgpu has no driver that counts"
fi
is calls_wait_for_it "$(seen "t['part']['throttled_percent'] > 0")" True
is it_launches "$(seen "t['part']['launches_per_s'] > 0 and t['part']['cpu_percent'] > 0")" True
is the_device_is_named "$(seen "len(o['devices']) >= 1 and o['devices'][0]['sms'] > 0")" True
seconds() { metric "wormhole_gpu_seconds_total{tenant=\"part\",user=\"$(id -un)\",device=\"0\"}"; }
first=$(seconds)
grows() { [ "$(seconds)" != "$first" ]; }
await_limit=10
ok its_seconds_grow await grows
await_limit=20
# shellcheck disable=SC2086
kill $pids
pids=
busy all --mem none
if [ "$world_kind" = gpu ]; then
	like without_a_share_the_driver_says_what_it_gets "$(seen "'got', t['all']['sm_got_percent'], t['all']['sm_got_percent'] > 50")" True
else
	skip without_a_share_the_driver_says_what_it_gets "softgpu has no driver that counts"
fi
is most_launches_are_waited_for_by_nobody "$(seen "t['all']['waited'] < t['all']['requests'] / 2")" True
# shellcheck disable=SC2086
kill $pids
wait
finish
