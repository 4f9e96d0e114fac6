#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the driver's own figures show a worker which holds memory without the
# handlers, and that it is stopped. A stand-in for NVML has the figures that this test writes.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

export FAKE_NVML="$tmp/figures" FAKE_NVML_CRASH="$tmp/crash"
export FAKE_NVML_UUID=GPU-776f726d-686f-6c65-2d73-6f6674677075
worker() { field "$1" "t['workers'][0]['pid']"; }
# figures LINE... replaces the file at once, so that it is never half written.
figures() {
	printf '%s\n' "$@" >"$tmp/new"
	mv "$tmp/new" "$FAKE_NVML"
}
M=1048576
log() { cat "$WORMHOLE_DIR/server.log"; }

plan 22
: >"$FAKE_NVML"
serve --nvml "$WH_BUILD/tests/tenant/bin/fake_nvml.so" --slack 16M
start good --tenant good --mem 64M -- alloc=1048576
start bad --tenant bad --mem 64M -- alloc=1048576
start free --tenant free --mem none -- alloc=1048576
good=$(worker good) bad=$(worker bad) free=$(worker free)

# Usage at the limit plus the slack, to the byte, causes nothing, however long it lasts.
figures "$good $((80 * M)) 40" "$bad $((80 * M)) 10" "$free $((900 * M)) 70"
ok figure_of_the_driver_is_shown await field_is good "d['memory_driver']" $((80 * M))
seen=$(field good "d['gpu_ns']")
ok utilisation_of_the_driver_is_added_up await eval '[ "$(field good "d[\"gpu_ns\"]")" -gt $((seen + 400000000)) ]'

figures "$free $((1 << 62)) 70"
ok json_has_integers_as_they_are await field_is free "d['memory_driver']" $((1 << 62))

start shared --tenant shared --sm 50 -- alloc=1048576
figures "$good $((80 * M)) 40" "$(worker shared) $((9 * M)) 90" "$bad $((80 * M)) 10" "$free $((900 * M)) 70"
await field_is shared "d['memory_driver']" $((9 * M))
before=$(field good "d['gpu_ns']")
await eval '[ "$(field good "d[\"gpu_ns\"]")" -gt $((before + 400000000)) ]'
is under_a_share_of_time_the_worker_alone_measures "$(field shared "d['gpu_ns']")" 0
finish_client shared
ok limit_and_slack_may_be_used await has_workers 3
is without_a_limit_any_figure_is_right "$(worker free)" "$free"

# Now the worker holds one byte more.
figures "$good $((80 * M)) 40" "$bad $((80 * M + 1)) 10" "$free $((900 * M)) 70"
ok worker_beyond_its_limit_is_stopped await gone "$bad"
like and_the_log_says_why "$(log)" \
	"tenant bad: worker $bad stopped: on device 0 the driver counts $((80 * M + 1)) bytes for the tenant, its limit is $((64 * M))"
finish_client bad 2>/dev/null
is others_are_left_alone "$(worker good) $(worker free)" "$good $free"

# A peak between two readings is no reason to stop a worker; several readings in a row are.
figures "$good $((79 * M)) 40" "$free $((900 * M)) 70"
printf '%s\n' "$good $((81 * M)) 40" "$free $((900 * M)) 70" >"$tmp/new"
mv "$tmp/new" "$FAKE_NVML.once"
await eval '! [ -e "$FAKE_NVML.once" ]'
figures "$good $((80 * M)) 40" "$free $((900 * M)) 70"
await field_is good "d['memory_driver']" $((80 * M))
is one_reading_above_is_forgiven "$(worker good)" "$good"

# Of two workers, the one that holds most without the handlers is stopped.
start second --tenant good -- alloc=4096
second=$(field good "[w['pid'] for w in t['workers'] if w['pid'] != $good][0]")
figures "$good $((60 * M)) 0" "$second $((90 * M)) 0"
ok of_two_workers_the_worse_is_stopped await gone "$second"
is the_other_is_not "$(worker good)" "$good"

: >"$FAKE_NVML_CRASH"
ok reader_that_crashes_is_started_again await eval 'log | grep -q "reads NVML ended"'
figures "$good $((33 * M)) 0"
ok and_reads_on await field_is good "d['memory_driver']" $((33 * M))

# One that crashes each time costs the machine and the log little.
crashes() { log | grep -c "reads NVML ended"; }
before=$(crashes) begun=$(date +%s%N)
echo always >"$FAKE_NVML_CRASH"
ok reader_that_crashes_each_time_is_started_again await eval '[ "$(crashes)" -ge $((before + 3)) ]'
ok but_later_each_time [ $(($(date +%s%N) - begun)) -ge 2000000000 ]
rm "$FAKE_NVML_CRASH"
figures "$good $((34 * M)) 0"
ok until_it_reads_again await field_is good "d['memory_driver']" $((34 * M))
for c in good free; do finish_client $c; done
finish_client second 2>/dev/null

# Without --nvml the library beside the driver is asked.
"$wormhole" stop
mkdir "$tmp/driver"
cp -L "$WH_BUILD/softgpu/libcuda.so.1" "$tmp/driver/"
cp "$WH_BUILD/tests/tenant/bin/fake_nvml.so" "$tmp/driver/libnvidia-ml.so.1"
serve --backend "$tmp/driver/libcuda.so.1"
start last --tenant last --mem 64M -- alloc=4096
figures "$(worker last) $((7 * M)) 0"
ok library_beside_the_driver_is_asked await field_is last "d['memory_driver']" $((7 * M))

# The driver knows other process numbers than the server does.
figures "1 $((900 * M)) 0"
ok server_says_when_it_is_blind await eval 'log | grep -q "names no worker.s process"'

# Memory that nobody has counted may be 64 MiB, and not a byte more, whatever the slack is.
named=$(worker last)
figures "$named $((128 * M)) 40"
await field_is last "d['memory_driver']" $((128 * M))
before=$(field last "d['gpu_ns']")
await eval '[ "$(field last "d[\"gpu_ns\"]")" -gt $((before + 400000000)) ]'
is what_nobody_knows_of_may_be_64_mib "$(worker last)" "$named"
figures "$named $((128 * M + 1)) 0"
ok and_no_more await gone "$named"
finish_client last 2>/dev/null

# The daemon keeps neither the caller's standard output nor its standard error, nor anything else
# that the caller has open.
"$wormhole" stop
is daemon_and_all_behind_it_let_go_of_the_caller "$({ timeout 20 "$wormhole" serve --backend softgpu --daemon \
	--nvml "$WH_BUILD/tests/tenant/bin/fake_nvml.so"; } 7>&1 2>&1 | timeout 20 cat >/dev/null; echo $?)" 0
finish
