#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises which objects the preload library serves, that it leaves everything else
# alone, of which version it takes a runtime to be, and what it says of a runtime that it cannot
# serve when that is used. It runs over softgpu; the points about messages run over a server.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/cudart/environment.sh"
bin=$WH_BUILD/tests/cudart/bin
preload=$WH_BUILD/client-stubs/libwormhole-preload.so
export LD_LIBRARY_PATH=$WH_BUILD/softgpu
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

judge() { point "$1" || { echo "# exit status $rc"; sed 's/^/# /' "$tmp/out" "$tmp/err"; }; }
run() { LD_PRELOAD=$preload timeout 60 "$@" >"$tmp/out" 2>"$tmp/err"; rc=$?; }
lines() { [ "$rc" = 0 ] && [ "$(tr '\n' ' ' <"$tmp/out")" = "$1" ]; }
left() { [ "$rc" = 0 ] && [ "$(tr '\n' ' ' <"$tmp/out")" = "$1" ] && [ ! -s "$tmp/err" ]; }
named() { [ "$rc" = 0 ] && [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "$1" "$tmp/err"; }
refused() { [ "$rc" = 127 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "$1" "$tmp/err"; }

[ -x "$bin/plugin_user" ] || skip_all "nvcc was not there when the tests were built"
plan 52

run "$bin/no_pie"
lines "constructor 112 main 13 "; judge a_program_at_a_fixed_address_is_served
run "$bin/cet"
lines "constructor 112 main 13 "; judge a_program_with_endbr64_at_its_entries_is_served
run "$bin/rdc"
lines "constructor 112 main 13 "; judge a_program_with_relocatable_device_code_is_served
run "$bin/plugin_user"
lines "constructor 112 main 13 "; judge a_library_is_served_before_its_constructors
run "$bin/plugin_opener" "$bin/libplugin.so"
lines "constructor 112 main 12 constructor 112 main 13 "; judge an_opened_library_is_served_each_time

run "$bin/stripped"
lines "constructor 112 main 13 "; judge a_stripped_program_is_served
run "$bin/without_locals"
lines "constructor 112 main 13 "; judge a_program_with_a_symbol_table_without_the_runtime_is_served
run "$bin/stripped_user"
lines "constructor 112 main 13 "; judge a_stripped_library_is_served

run "$bin/later_runtime"
lines "later 36 "; judge a_function_of_a_later_minor_version_is_served_too
run "$bin/old_runtime"
left "own 1 "; judge a_runtime_of_another_version_that_is_not_used_is_left_alone
run "$bin/fake_12_9"
left "served 0 1 version 12090 advise 2 "; judge a_runtime_of_cuda_12_9_is_served_with_its_version
run "$bin/fake_12_0"
left "served 0 1 version 12000 advise 1 "; judge a_runtime_of_cuda_12_0_gets_the_driver_functions_of_12_0
run "$bin/fake_11_8"
left "served 0 1 version 11080 advise 1 "; judge a_runtime_of_cuda_11_8_is_served_with_its_version
run "$bin/fake_11_7"
left "served 0 1 version 11070 advise 1 "; judge so_is_one_of_11_7
run "$bin/fake_11_5"
left "served 0 1 version 11050 advise 1 "; judge one_between_is_known_by_what_came_with_its_version
run "$bin/fake_11_2"
left "served 0 version 11020 "; judge so_is_one_of_11_2
run "$bin/fake_10"
left "own 77 "; judge one_without_what_came_with_11_0_is_not_redirected
if [ -x "$bin/of_11" ]; then
	run env WORMHOLE_LOG=1 LD_LIBRARY_PATH="$WH_BUILD/softgpu:$WH_BUILD/client-stubs" "$bin/of_11"
	[ "$(grep -c '^wormhole: warn: libcudart: cudaProfilerInitialize is not supported$' "$tmp/err")" = 1 ]
	judge a_function_of_11_that_is_refused_is_named_once
else
	skip a_function_of_11_that_is_refused_is_named_once "tools/get-runtimes.sh got no headers of 11.8"
fi
run "$bin/unlike_12_9"
left "own 77 "; judge a_runtime_of_12_9_with_a_function_that_no_version_has_is_not_redirected
run "$bin/missing_runtime"
left "own 77 "; judge a_runtime_of_13_that_lacks_a_function_is_not_redirected
run "$bin/unlike_runtime"
left "own 77 "; judge a_runtime_of_13_0_with_a_function_that_no_version_has_is_not_redirected
run "$bin/own_functions"
left "own 1 1 served 0 1 "; judge the_programs_own_functions_with_such_names_change_nothing
run "$bin/newer_runtime"
lines "new 36 36 served 0 1 "; judge a_later_minor_version_than_is_known_is_served_and_its_new_functions_refused
[ "$(wc -l <"$tmp/err")" = 1 ] && grep -q '^wormhole: error: libwormhole-preload: cudaBrandNew came with a later CUDA than 13\.' "$tmp/err"
judge each_new_function_is_named_once
run "$bin/short_runtime"
left "own 77 "; judge a_function_too_short_to_redirect_is_left_alone

run "$bin/wrapper"
lines "own 1 "; judge a_program_with_one_function_of_that_name_is_left_alone
run /bin/echo hello
lines "hello "; judge a_program_without_cuda_is_left_alone
run "$WH_BUILD/examples/shared/no_such_program"
[ "$rc" = 127 ]; judge a_missing_program_is_still_a_missing_program
LD_PRELOAD=$preload LD_DEBUG=files "$bin/wrapper" >"$tmp/out" 2>"$tmp/err"; rc=$?
! grep -q 'libcudart' "$tmp/err"; judge the_runtime_is_loaded_only_when_needed

for name in wormhole-server wormhole-worker; do
	cp "$bin/stripped" "$tmp/$name"
	LD_PRELOAD=$preload LD_DEBUG=files "$tmp/$name" >"$tmp/out" 2>"$tmp/err"; rc=$?
	grep -q libwormhole-preload "$tmp/err" && ! grep -q 'libcudart' "$tmp/err" || break
done
[ "$name" = wormhole-worker ] && ! grep -q 'libcudart' "$tmp/err"; judge servers_and_workers_are_left_alone

cp "$preload" "$tmp/alone.so"
LD_PRELOAD=$tmp/alone.so "$bin/no_pie" >"$tmp/out" 2>"$tmp/err"; rc=$?
refused '^wormhole: error: libwormhole-preload: .*libcudart.so.13'; judge without_its_runtime_beside_it_the_library_says_so

# Over our libcuda.so.1, the private tables are not there.
use_transport shm
trap 'stop_server; rm -rf "$tmp"' EXIT
export LD_LIBRARY_PATH=$static_path
run "$bin/stripped"
lines "constructor 112 main 13 " && [ ! -s "$tmp/err" ]; judge a_stripped_program_is_served_over_a_server
run env LD_PRELOAD=/nothing.so "$bin/no_pie"
grep -qF ": LD_PRELOAD, which is \"/nothing.so\", was set anew since \`wormhole run'; add $preload to it" "$tmp/err"
judge a_program_without_the_preload_library_is_told_what_its_variable_has_lost
run env -u LD_PRELOAD -u WORMHOLE_TRANSPORT "$bin/no_pie"
grep -q "is none: \`wormhole run' redirects static CUDA runtimes" "$tmp/err"
judge and_of_wormhole_run_where_that_did_not_start_it
run "$bin/altered"
named "^wormhole: error: $bin/altered: .*seems to be of CUDA 13\.[0-9 or.]*, but the code of 1 of its functions is another; link it with nvcc -cudart shared, or do not strip it"; judge a_stripped_program_is_named_with_the_remedy_when_it_uses_cuda
run env LD_PRELOAD="$preload $WH_BUILD/tests/cudart/altered/libstripped.so" "$bin/stripped_user"
named 'libstripped.so: plugin_compute() needs a private table'; judge a_stripped_library_is_named_with_its_call
run "$bin/old_runtime" use
named 'not of version 11, 12 or 13; build it with CUDA 11, 12 or 13'; judge a_runtime_of_another_version_is_named_at_use
run "$bin/short_runtime" use
named 'cuda[A-Za-z]*() .*too short to redirect; link it with nvcc -cudart shared'; judge a_function_too_short_is_named_at_use
run "$bin/fake_10" use
named "$bin/fake_10: .*runtime of an unknown version, perhaps not of version 11, 12 or 13; build it with CUDA 11, 12 or 13, or with the shared"
judge a_runtime_before_11_is_named_with_the_remedy
run "$bin/missing_runtime" use
named 'runtime of an unknown version, perhaps not of version 11, 12 or 13; build'; judge a_version_that_is_not_known_for_sure_is_called_unknown

# NVIDIA's own runtimes: that of CUDA 12.9 has __cudaGetKernel as that of 13 has. That of 11.8 is in Debian's package
# nvidia-cuda-dev alone.
where() { # BUILD
	case $1 in
	11.*) echo "libcudart_static.a of Debian's nvidia-cuda-dev is not in build/runtimes/$1" ;;
	*) echo "tools/get-runtimes.sh got no runtime of $1" ;;
	esac
}
for build in 12.9.79 11.8.89 11.2.152; do
	minor=$(echo "${build%.*}" | tr . _)
	if [ -x "$bin/static_$build" ]; then
		run "$bin/static_$build"
		left "errors 0 0 0 0 value 7 "
		judge "nvidias_runtime_of_${minor}_is_served_over_a_server"
	else
		skip "nvidias_runtime_of_${minor}_is_served_over_a_server" "$(where "$build")"
	fi
done
if [ -x "$bin/two_runtimes" ]; then
	run "$bin/two_runtimes"
	left "constructor 112 13 13 old ran "
	judge each_of_two_runtimes_is_judged_for_itself
else
	skip each_of_two_runtimes_is_judged_for_itself "tools/get-runtimes.sh got no runtime of 12.9"
fi
for build in 12.9.79 13.5.37 11.8.89 11.2.152; do
	case $build in
	11.2.*) point=a_stripped_runtime_of_11_2_is_served ;;
	11.*) point=a_stripped_runtime_of_11_8_is_served ;;
	12.*) point=a_stripped_runtime_of_12_9_is_served ;;
	*) point=a_stripped_runtime_of_another_13_than_the_compilers_is_served ;;
	esac
	if [ ! -x "$bin/stripped_$build" ]; then
		skip $point "$(where "$build")"
		continue
	fi
	run "$bin/stripped_$build"
	left "errors 0 0 0 0 value 7 "
	judge $point
done

# The tables say what NVIDIA's libraries have.
table=$WH_TOP/cuda-api/runtime_code.txt
code_of() { # BUILD: the functions that the table has of it
	awk -v b="$1" '$1 == "builds" { on = 0; for (i = 2; i <= NF; i++) on += $i == b; next } on' "$table"
}
for build in 12.9.79 13.5.37 11.8.89 11.2.152; do
	library=$WH_BUILD/runtimes/$build/libcudart_static.a
	if [ ! -e "$library" ]; then
		skip "the_table_has_the_code_of_$build" "$(where "$build")"
		continue
	fi
	/usr/bin/python3 -B "$WH_TOP/cuda-api/runtime_code.py" "$build=$library" 2>"$tmp/err" | grep -v '^#' | tail -n +2 >"$tmp/out"
	rc=$?
	[ -s "$tmp/out" ] && code_of "$build" | cmp - "$tmp/out" >>"$tmp/err" 2>&1
	judge "the_table_has_the_code_of_$build"
done
finish
