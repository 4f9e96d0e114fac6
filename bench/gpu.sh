#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Figures on a GPU, natively and over each transport in one run: time of calls, launch rate,
# training throughput, single layers, crossings, copy bandwidth, and shares under limits.
# Writes build/bench/gpu/*.txt; `make -C bench gpu-record` makes RESULTS-gpu.md and the
# plots of these files. It needs no compiler if build/ was copied along.
#
#	bench/gpu.sh [PART...]	parts: calls train whole layers crossings copy share (all), and rates, which
#				is no part of the report: launches of 1, 2, 4 and 8 threads
#	WH_BENCH_QUICK=1	a tenth of the time, WH_TEST_DEVICE=softgpu: to try it out
#	WH_COMMIT=...		of what runs, where there is no repository
set -u
WH_TOP=$(cd "$(dirname "$0")/.." && pwd)
WH_BUILD=${WH_BUILD:-$WH_TOP/build}
export WH_TOP WH_BUILD
. "$WH_TOP/tests/world.sh"
. "$WH_TOP/bench/turns.sh"
bench=$WH_BUILD/bench
programs=$WH_BUILD/tests/programs/bin/shared
out=$bench/gpu
quick=${WH_BENCH_QUICK:+1}
worlds="native loopback shm"

# pick QUICK FULL
pick() { [ -n "$quick" ] && echo "$1" || echo "$2"; }

commit() {
	echo "${WH_COMMIT:-$(git -C "$WH_TOP" describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)}"
}

# What a part ran on: each part's page says so, since parts come from different runs.
machine() {
	where="over softgpu"
	[ "$world_kind" != gpu ] ||
		where=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null |
			sed -n '1{s/^/on an /; s/, /, driver /; p}')
	echo "$where, $(nproc) CPUs, kernel $(uname -r)"
}

# Prints each line of a program's output, with the name of the world before it.
each_world() { # LIMIT COMMAND...
	limit=$1
	shift
	for w in $worlds; do
		in_world $w shared timeout "$limit" "$@" 2>"$out/err" | sed "s/^/$w /"
		[ "${PIPESTATUS[0]}" = 0 ] || echo "# $w: $(basename "$1") failed: $(tail -n 1 "$out/err")"
	done
}

rates() { each_world 120 "$bench/calls" rates=1; }

calls() { each_world 60 "$bench/calls" ms=$(pick 5 200); }

train() {
	small="batch=2 turn=2"
	train_one lenet $(pick 3 300) $(pick "$small width=5" "batch=100 turn=10")
	train_one lenet_dnn $(pick 3 300) $(pick "$small" "batch=100 turn=58")
	small="$small image=67 width=16"
	train_one alexnet $(pick 3 25) $(pick "$small" "turn=4")
	train_one alexnet_dnn $(pick 3 25) $(pick "$small" "turn=6")
}

# Trains as long as the Wormhole paper did: LeNet 10,000 iterations, AlexNet 1,800. By cuDNN, if it
# is there.
whole() {
	dnn=_dnn
	[ "$world_kind" = gpu ] && has_library libcudnn.so.9 || dnn=
	whole_one lenet$dnn $(pick "steps=20 batch=2 width=5" "steps=10000 batch=100")
	whole_one alexnet$dnn $(pick "steps=6 batch=2 image=67 width=16" "steps=1800")
}

# Prints each world's seconds from start to end, and a digest of all losses and weights.
whole_one() { # NAME ARGUMENT...
	name=$1
	shift
	for w in $worlds; do
		begun=$EPOCHREALTIME
		in_world $w shared timeout 400 "$programs/$name" "$@" >"$out/said" 2>"$out/err" ||
			{ echo "# $w: $name failed: $(tail -n 1 "$out/err")"; continue; }
		took=$(awk "BEGIN { printf \"%.2f\", $EPOCHREALTIME - $begun }")
		echo "$w whole $name $(grep -c ^step "$out/said") $(md5sum <"$out/said" | cut -c 1-12) s $took"
	done
}

# Measures single layers with our own kernels and cuBLAS, and with cuDNN if it is there.
layers() {
	for p in layers layers_dnn; do
		[ -x "$bench/$p" ] || continue
		# softgpu has no stand-in for cuDNN.
		[ $p = layers ] || { [ "$world_kind" = gpu ] && has_library libcudnn.so.9; } ||
			{ echo "# $p: no libcudnn.so.9 for this device"; continue; }
		in_turns $(pick 1 9) layers_turn $p $(pick 5 100) | sed "s/ layer / $p /"
		layers_crossings $p | sed "s/^crossings /loopback crossings_$p /"
	done
}

# Measures how many requests to the worker a thousand more calls of the Neuron mix make.
crossings() {
	for w in loopback shm; do
		for n in 1000 $(pick 3000 101000); do
			WORMHOLE_STATS=1 in_world $w shared timeout 60 "$programs/neuron" calls=$n \
				2>"$out/err" >/dev/null
			sent=$(sed -n 's/^wormhole: info: \([0-9]*\) requests.*/\1/p' "$out/err")
			[ -n "$sent" ] && echo "$w crossings $n $sent" ||
				echo "# $w: neuron failed: $(tail -n 1 "$out/err")"
		done
	done
	in_turns $(pick 1 3) each_neuron_rate
}

each_neuron_rate() {
	for w in $order; do
		in_world $w shared timeout 60 "$programs/neuron" calls=$(pick 2000 100000) \
			2>"$out/err" >/dev/null
		rate=$(sed -n 's/^rate \([0-9.]*\).*/\1/p' "$out/err")
		[ -n "$rate" ] && echo "$w neuron calls/s $rate"
	done
}

copy() { WH_BACKEND=$driver "$WH_TOP/bench/copy.sh" $(pick 65536 "") | grep -v '^#'; }

# Measures shares against the same programs without a limit, all over shm.
share() {
	if [ -n "$quick" ]; then
		export SECONDS_EACH=1 SHARES=50 BLOCKS=1
		WH_BACKEND=$driver "$WH_TOP/bench/share.sh" one 3us 2ms
	else
		WH_BACKEND=$driver "$WH_TOP/bench/share.sh" all
	fi
}

world_init "${WH_TEST_DEVICE:-gpu}" || { echo "error: $world_missing" >&2; exit 1; }
world_server
mkdir -p "$out"
[ $# != 0 ] || set -- calls train whole layers crossings copy share
for part; do
	{ echo "run $(date +%F) $(commit) $(machine)"; "$part"; } | tee "$out/$part.txt"
done
