#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the tests of tests/cudart/, which hold for any CUDA 13 runtime, pass on
# NVIDIA's own runtime (native), and on ours over loopback and shm. A test's own output shows
# which of its points failed.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
bin=$WH_BUILD/tests/cudart/bin
needs_programs "$bin/launch"
programs=$(cd "$WH_TOP/tests/cudart" && ls ./*_test.cu | sed 's,^\./,,; s,_test\.cu$,,')

passes() { # WORLD KIND FILE
	in_world "$1" "$2" timeout 100 "$3" >"$world_dir/tap" 2>&1
	rc=$?
	grep -A 4 -E '^(not ok|Bail out!)' "$world_dir/tap"
	[ $rc = 0 ] || { echo "status $rc"; tail -n 3 "$world_dir/tap"; }
	return $rc
}

# shellcheck disable=SC2086
set -- $programs stream_ptds
plan $(($# * 6))
for p; do
	for w in native loopback shm; do
		ok "${p}_shared_$w" passes $w shared "$bin/$p"
		ok "${p}_static_$w" passes $w static "$bin/${p}_static"
	done
done
finish
