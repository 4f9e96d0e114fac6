#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises which objects the preload library serves, that it leaves everything else
# alone, and what it says of a runtime that it cannot serve when that is used. It runs over
# softgpu; the points about messages run over a server.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/cudart/environment.sh"
bin=$WH_BUILD/tests/cudart/bin
preload=$WH_BUILD/client-stubs/libwormhole-preload.so
export LD_LIBRARY_PATH=$WH_BUILD/softgpu
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0

ok() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		echo "# exit status $rc"
		sed 's/^/# /' "$tmp/out" "$tmp/err"
	fi
}
run() { LD_PRELOAD=$preload timeout 60 "$@" >"$tmp/out" 2>"$tmp/err"; rc=$?; }
lines() { [ "$rc" = 0 ] && [ "$(tr '\n' ' ' <"$tmp/out")" = "$1" ]; }
left() { [ "$rc" = 0 ] && [ "$(tr '\n' ' ' <"$tmp/out")" = "$1" ] && [ ! -s "$tmp/err" ]; }
named() { [ "$rc" = 0 ] && [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "$1" "$tmp/err"; }
refused() { [ "$rc" = 127 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "$1" "$tmp/err"; }

[ -x "$bin/plugin_user" ] || skip_all "nvcc was not there when the tests were built"
echo "TAP version 13"
echo "1..17"

run "$bin/no_pie"
lines "constructor 112 main 13 "; ok $? a_program_at_a_fixed_address_is_served
run "$bin/cet"
lines "constructor 112 main 13 "; ok $? a_program_with_endbr64_at_its_entries_is_served
run "$bin/rdc"
lines "constructor 112 main 13 "; ok $? a_program_with_relocatable_device_code_is_served
run "$bin/plugin_user"
lines "constructor 112 main 13 "; ok $? a_library_is_served_before_its_constructors
run "$bin/plugin_opener" "$bin/libplugin.so"
lines "constructor 112 main 12 constructor 112 main 13 "; ok $? an_opened_library_is_served_each_time

run "$bin/later_runtime"
lines "later 36 "; ok $? a_function_of_a_later_minor_version_is_served_too
run "$bin/old_runtime"
left "own 1 "; ok $? a_runtime_of_another_version_that_is_not_used_is_left_alone
run "$bin/short_runtime"
left "own 1 "; ok $? a_function_too_short_to_redirect_is_left_alone

run "$bin/wrapper"
lines "own 1 "; ok $? a_program_with_one_function_of_that_name_is_left_alone
run /bin/echo hello
lines "hello "; ok $? a_program_without_cuda_is_left_alone
run "$WH_BUILD/examples/shared/no_such_program"
[ "$rc" = 127 ]; ok $? a_missing_program_is_still_a_missing_program
LD_PRELOAD=$preload LD_DEBUG=files "$bin/wrapper" >"$tmp/out" 2>"$tmp/err"; rc=$?
! grep -q 'libcudart' "$tmp/err"; ok $? the_runtime_is_loaded_only_when_needed

cp "$preload" "$tmp/alone.so"
LD_PRELOAD=$tmp/alone.so "$bin/no_pie" >"$tmp/out" 2>"$tmp/err"; rc=$?
refused '^wormhole: error: libwormhole-preload: .*libcudart.so.13'; ok $? without_its_runtime_beside_it_the_library_says_so

# Over our libcuda.so.1, the private tables are not there.
use_transport shm
trap 'stop_server; rm -rf "$tmp"' EXIT
export LD_LIBRARY_PATH=$static_path
run "$bin/stripped"
named "^wormhole: error: $bin/stripped: .*nvcc -cudart shared, or do not strip it"; ok $? a_stripped_program_is_named_with_the_remedy_when_it_uses_cuda
run "$bin/stripped_user"
named 'libstripped.so: plugin_compute() needs a private table'; ok $? a_stripped_library_is_named_with_its_call
run "$bin/old_runtime" use
named 'not of version 13; build it with CUDA 13'; ok $? a_runtime_of_another_version_is_named_at_use
run "$bin/short_runtime" use
named 'cuda[A-Za-z]*() .*too short to redirect; link it with nvcc -cudart shared'; ok $? a_function_too_short_is_named_at_use
