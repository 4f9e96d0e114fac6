#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the runtimes work with other versions of CUDA than their own: programs of
# a later CUDA 13, and drivers of another version. It runs over a driver that says its version, and
# needs no device.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/tests/tap.sh"
bin=$WH_BUILD/tests/cudart/bin
lib=$WH_BUILD/client-stubs/libcudart.so.13
lib_12=$WH_BUILD/client-stubs/libcudart.so.12
lib_11=$WH_BUILD/client-stubs/libcudart.so.11.0
export LD_LIBRARY_PATH=$WH_BUILD/tests/cudart/fake
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

judge() { point "$1" || sed 's/^/# /' "$tmp/out" "$tmp/err"; }
run() { env "$@" >"$tmp/out" 2>"$tmp/err"; }
says() { [ "$(cat "$tmp/out")" = "$1" ]; }
newer=$(awk '$2 == "newer" && $1 != "#" { print $1 }' "$WH_TOP/cuda-api/runtime_calls.txt")

plan 14

# The loader finds the newer functions that a program needs; each says, when it is called, why it
# does not work.
run "$bin/minor" "$lib" $newer && [ "$(grep -c '^36 36$' "$tmp/out")" = "$(echo "$newer" | wc -l)" ]
judge functions_of_later_versions_are_there_and_require_a_newer_driver
[ ! -s "$tmp/err" ]
judge without_wormhole_log_nothing_is_said
run WORMHOLE_LOG=1 "$bin/minor" "$lib" cudaGreenCtxCreate cudaGreenCtxCreate
[ "$(grep -c 'cudaGreenCtxCreate came with CUDA 13\.1, and this runtime is of CUDA 13\.[0-9]*:' "$tmp/err")" = 1 ]
judge both_versions_are_named_once

run "$bin/minor" "$lib" && says "count 0 version 0 13000"
judge a_driver_of_its_own_version_serves
run FAKE_VERSION=13050 "$bin/minor" "$lib" && says "count 0 version 0 13050" && [ ! -s "$tmp/err" ]
judge a_driver_of_a_later_minor_version_serves
run FAKE_VERSION=14000 "$bin/minor" "$lib" && says "count 0 version 0 14000"
judge a_driver_of_a_later_major_version_serves
run FAKE_VERSION=12080 "$bin/minor" "$lib" && says "count 35 version 0 12080"
judge a_driver_of_an_earlier_major_version_is_insufficient
[ "$(grep -c '^wormhole: error: libcudart: the driver is of CUDA 12\.8, the program.s runtime of CUDA 13\.' "$tmp/err")" = 1 ]
judge and_both_are_named

run FAKE_VERSION=12000 "$bin/minor" "$lib_12" && says "count 0 version 0 12000" && [ ! -s "$tmp/err" ]
judge a_driver_of_12_0_serves_programs_of_12
run FAKE_VERSION=11080 "$bin/minor" "$lib_12" && says "count 35 version 0 11080"
judge a_driver_of_11_is_insufficient_for_them
[ "$(grep -c '^wormhole: error: libcudart: the driver is of CUDA 11\.8, the program.s runtime of CUDA 12\.9: it takes a driver of CUDA 12\.0 or newer' "$tmp/err")" = 1 ]
judge and_they_are_named_with_their_own_version

run FAKE_VERSION=12000 "$bin/minor" "$lib_11" && says "count 0 version 0 12000" && [ ! -s "$tmp/err" ]
judge a_driver_of_12_0_serves_programs_of_11
run FAKE_VERSION=11080 "$bin/minor" "$lib_11" && says "count 35 version 0 11080"
judge a_driver_of_11_lacks_what_they_need_here
[ "$(cat "$tmp/err")" = "wormhole: error: libcudart: the driver is of CUDA 11.8, the program's runtime of CUDA 11.8: it takes a driver of CUDA 12.0 or newer" ]
judge and_it_is_said_which_driver_serves
finish
