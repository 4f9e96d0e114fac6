#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises that the programs of `make bench` which need no VM run and say what they
# measured.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD WH_BENCH_MS=2
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
bench=$WH_BUILD/bench

need_built "$bench/tcp" "$bench/scale" "$bench/stages" "$softgpu/libcuda.so.1"

# says_four WAY checks that the program prints four figures above zero, with the names of this
# way.
says_four() { # WAY
	LD_LIBRARY_PATH=$softgpu timeout 20 "$bench/tcp" "$1" >"$world_dir/said" 2>"$world_dir/err" || return 1
	[ "$(grep -c "^bench $1_[a-z0-9_]* ns [0-9]* [1-9]" "$world_dir/said")" = 4 ]
}

plan $([ -x "$bench/layers" ] && echo 18 || echo 15)
world_init softgpu
world_server --part-size 16M
for way in inline notify tcp; do
	ok "${way}_measures_a_null_call_a_launch_and_copies" says_four $way
done
LD_LIBRARY_PATH=$softgpu "$bench/tcp" pigeon 2>"$world_dir/err"
is a_way_that_is_not_there_is_refused $? 2

# mixes WAY CROSSINGS checks that the Neuron mix prints the same whichever way its calls go, and
# that all calls cross; with `inline` none crosses.
mixes() { # WAY CROSSINGS
	LD_LIBRARY_PATH=$softgpu timeout 20 "$bench/mix" "$1" calls=500 >"$world_dir/mix.$1" 2>"$world_dir/err" &&
		grep -q '^rate [1-9]' "$world_dir/err" && grep -q "^crossed: $2 requests" "$world_dir/err" &&
		cmp "$world_dir/mix.inline" "$world_dir/mix.$1"
}
ok inline_runs_the_mix mixes inline 0
for way in notify tcp; do
	ok "${way}_brings_the_same" mixes $way 500
done

# rounds gives three kinds of calls a line for each of three pauses: with fewer they would end early.
rounds() {
	in_world shm shared env WH_ROUNDS=8,16,0 timeout 20 "$bench/stages" cuda some >"$world_dir/said" 2>"$world_dir/err" <<-END
		$(yes go | head -n 9)
	END
	[ "$(sed -n 's/^ran some_launch \([0-9]*\) .*/\1/p' "$world_dir/said" | xargs)" = "8 16" ] &&
		[ "$(grep -c '^paused some_copy_to_host$' "$world_dir/said")" = 3 ]
}
ok rounds_of_calls_pause_before_between_and_behind rounds

# scales WORLD [VARIABLE] checks that the program prints calls a second and a client's memory,
# both above zero.
scales() { # WORLD [VARIABLE]
	in_world "$1" shared env ${2:+"$2"} timeout 20 "$bench/scale" 3 2 >"$world_dir/said" 2>"$world_dir/err" || return 1
	grep -q '^scale 3 2 [1-9][0-9]* [0-9.]* [1-9][0-9]* [0-9]*$' "$world_dir/said"
}
ok clients_and_threads_make_calls_natively scales native
ok clients_and_threads_make_calls_over_shm scales shm "WH_SERVER_PID=$server_pid"
ok workers_memory_is_counted grep -q ' [1-9][0-9]*$' "$world_dir/said"
in_world shm shared env WORMHOLE_SOCKET="$world_dir/nobody" timeout 20 "$bench/scale" 2 1 >"$world_dir/said" 2>"$world_dir/err"
is a_client_that_fails_fails_all_of_it $? 1

# mixes_forty WORLD checks that the mix with all 40 functions ran, and calls 35 rare ones.
mixes_forty() { # WORLD
	in_world "$1" shared timeout 20 "$bench/mix40" calls=12600 >"$world_dir/forty.$1" 2>"$world_dir/err" &&
		grep -q '^calls 12600: .* 35 of others$' "$world_dir/forty.$1"
}
if [ -x "$bench/mix40" ]; then
	ok all_40_functions_of_the_mix_are_called mixes_forty native
	ok they_answer_the_same_over_shm eval "mixes_forty shm && cmp '$world_dir/forty.native' '$world_dir/forty.shm'"
else
	skip mix_of_40 "no nvcc with cuBLAS's headers on this machine"
	skip mix_of_40_over_shm "no nvcc with cuBLAS's headers on this machine"
fi

# layers_in WORLD checks that the program prints eight layers; the last word of each line is the
# layer's result.
layers_in() { # WORLD
	in_world "$1" shared timeout 60 "$bench/layers" steps=1 >"$world_dir/said" 2>"$world_dir/err" || return 1
	awk '/^layer / && $3 > 0 { print $2, $5 }' "$world_dir/said" >"$world_dir/layers.$1"
	[ "$(wc -l <"$world_dir/layers.$1")" = 8 ]
}
if [ -x "$bench/layers" ]; then
	ok gradients_of_layers_are_those_of_differences in_world native shared timeout 60 "$bench/layers" check=1
	ok layers_answer_natively layers_in native
	for w in loopback shm; do
		ok "layers_answer_the_same_over_$w" eval "layers_in $w && cmp '$world_dir/layers.native' '$world_dir/layers.$w'"
	done
else
	skip layers "no nvcc with cuBLAS's headers on this machine"
fi
finish
