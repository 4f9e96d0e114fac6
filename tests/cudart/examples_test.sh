#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the six example programs, as plain nvcc builds them, give the CPU's
# results with the static and the shared runtime. Nothing of ours is in the programs. The test is
# installed as examples.t (softgpu in the process) and as examples_shm.t.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/cudart/environment.sh"
programs="array_add vectorAdd matmul reduce streams threads"

judge() { point "$1" || diag "$out"; }
passed() { # reads $out and $rc
	[ "$rc" = 0 ] && echo "$out" | tail -n 1 | grep -q ": PASS: "
}

[ -x "$WH_BUILD/examples/static/streams" ] ||
	skip_all "nvcc was not there when the examples were built"
case $(basename "$0" .t) in
*_shm) use_transport shm ;;
*) use_transport direct ;;
esac
plan 27

for p in $programs; do
	f=$WH_BUILD/examples
	out=$(ldd "$f/static/$p" "$f/shared/$p" | grep -i '=>.*wormhole'
	      nm "$f/static/$p" "$f/shared/$p" | grep -iE ' (wh|sgpu|rt|preload|wormhole)_'
	      readelf -d "$f/shared/$p" "$f/static/$p" | grep -E 'RPATH|RUNPATH')
	[ -z "$out" ]; judge "nothing_of_ours_is_in_$p"
done
for p in $programs; do
	out=$(LD_LIBRARY_PATH=$shared_path timeout 60 "$WH_BUILD/examples/shared/$p" 2>&1); rc=$?
	passed; judge "shared_${p}_agrees_with_the_cpu"
done
for p in $programs; do
	out=$(LD_LIBRARY_PATH=$static_path LD_PRELOAD=$stubs/libwormhole-preload.so \
	      timeout 60 "$WH_BUILD/examples/static/$p" 2>&1); rc=$?
	passed; judge "static_${p}_agrees_with_the_cpu"
done
for p in $programs; do
	out=$(LD_LIBRARY_PATH=$shared_path timeout 60 "$WH_BUILD/examples/shared/$p" 257 2>&1); rc=$?
	passed; judge "${p}_takes_a_size"
done
out=$(LD_LIBRARY_PATH=$shared_path "$WH_BUILD/examples/shared/array_add" 2>&1)
echo "$out" | sed -n 1p | grep -q '^before: 0 0\.5 1 .* 15\.5$'; judge array_add_prints_the_array_before
echo "$out" | sed -n 2p | grep -q '^after:  1 1\.5 2 .* 16\.5$'; judge array_add_prints_the_array_after
out=$(LD_LIBRARY_PATH=$shared_path "$WH_BUILD/examples/shared/array_add" x 2>&1); rc=$?
[ "$rc" = 2 ] && echo "$out" | grep -q '^usage: '; judge a_size_that_is_no_number_is_a_usage_error
finish
