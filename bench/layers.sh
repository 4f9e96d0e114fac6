#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures single layers (layers.cu) and the training of two networks over softgpu on this
# machine, with each world in turns (turns.sh describes the lines). The gradients are
# checked first.
# usage: bench/layers.sh [TURNS [MS]]	MS: for each layer in a turn
set -u
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD WORMHOLE_SOFTGPU_THREADS=1
# Client and server get a CPU each, if there are two.
layers_cpu=
[ "$(nproc)" -lt 2 ] || { layers_cpu="taskset -c 0"; export WH_SERVER_CPU=1; }
trainer_cpu=$layers_cpu
. "$WH_TOP/tests/world.sh"
. "$WH_TOP/bench/turns.sh"
bench=$WH_BUILD/bench
programs=$WH_BUILD/tests/programs/bin/shared
worlds="native loopback shm"

world_init softgpu || exit 1
world_server
for program in "$bench/layers" "$programs/lenet" "$programs/alexnet"; do
	[ -x "$program" ] || { echo "error: $program is missing: it takes nvcc and cuBLAS's headers" >&2; exit 1; }
done
in_world native shared timeout 60 "$bench/layers" check=1 >&2 || exit 1
# A failure is a line that begins with a number sign. It ends only its own part.
{
	in_turns "${1:-3}" layers_turn layers "${2:-30}"
	layers_crossings layers
	train_one lenet "${1:-3}" batch=100 width=10 turn=1 steps=10
	train_one alexnet "${1:-3}" batch=64 width=64 image=67 turn=1 steps=5
} | tee "$world_dir/all"
! grep '^#' "$world_dir/all" >&2
