#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a program learns of metrics what NVIDIA's own CUPTI says in its process: the
# host of the profiler, which needs no device, natively and forwarded.
. "$(dirname "$0")/lib.sh"
genuine=
for d in "$WH_BUILD/nvcc/lib64" "$WH_BUILD/nvcc/lib" "$WH_BUILD/nvcc/extras/CUPTI/lib64"; do
	[ -n "$genuine" ] || [ ! -e "$d/libcupti.so.13" ] || [ ! -e "$d/libnvperf_host.so" ] || genuine=$(realpath "$d")
done
[ -n "$genuine" ] || skip_all "the toolkit has no libcupti.so.13 with libnvperf_host.so"
export WORMHOLE_CUPTI="$genuine/libcupti.so.13"

natively() { LD_LIBRARY_PATH="$genuine:$WH_BUILD/softgpu" timeout 60 "$bin/cupti_counters" host "$1" 2>&1; }
forwarded() { timeout 60 "$bin/cupti_counters" host "$1" 2>&1; }

plan 5
start_server --counters
for chip in GH100 GA100 AD102; do
	natively "$chip" >"$tmp/native"
	is "metrics_and_passes_of_${chip}_are_as_natively" "$(forwarded "$chip")" "$(cat "$tmp/native")"
done
like there_are_thousands_of_them "$(cat "$tmp/native")" "^metrics [0-9][0-9][0-9][0-9] "
is a_chip_that_is_none_is_the_librarys_error "$(forwarded none)" "$(natively none)"
finish
