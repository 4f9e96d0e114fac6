#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a program counts blocks and warps by CUPTI's range profiler
# (tests/lib/counters_gpu.c) under `wormhole run --counters` as natively, by ranges of its own and by
# kernels, and not without that option. It skips where the driver gives counters to nobody natively.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
program=$WH_BUILD/tests/lib/bin/counters_gpu
needs_programs "$program"
[ "$world_kind" = gpu ] && has_library libcupti.so.13 || skip_all "no GPU with a libcupti.so.13 on this machine"

in_world native shared timeout 120 "$program" >"$world_dir/native" 2>&1
rc=$?
[ $rc != 3 ] || skip_all "the driver gives no counters natively: $(tail -n 1 "$world_dir/native")"
use_run
plan 6
is blocks_and_warps_are_counted_natively "$rc: $(grep -c '^range .*: [49] blocks, \(8\|18\) warps$' "$world_dir/native")" "0: 4"
serve ${WH_GPU_LIBS:+--libraries "$WH_GPU_LIBS"}
"$wormhole" run -- timeout 120 "$program" >"$world_dir/denied" 2>&1
is without_the_option_they_are_refused $? 3
"$wormhole" run --counters -- timeout 120 "$program" >"$world_dir/run" 2>&1
rc=$?
[ $rc != 3 ] || diag "$(tail -n 3 "$WORMHOLE_DIR/server.log")"
if [ $rc = 3 ] && grep -q NVreg_RestrictProfilingToAdminUsers "$WORMHOLE_DIR/server.log"; then
	for p in with_it_they_are_counted with_the_same_values and_of_each_kernel; do
		skip "$p" "the driver gives counters to administrators alone, and workers are none"
	done
	finish
fi
is with_it_they_are_counted "$rc" 0
is with_the_same_values "$(cat "$world_dir/run")" "$(cat "$world_dir/native")"
is and_of_each_kernel "$(grep -c '^range [01]:' "$world_dir/run")" 2
finish
