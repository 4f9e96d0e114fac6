#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that torch.profiler and jax.profiler under plain `wormhole run` see the device's
# work of a step of training as natively: the same kernels, copies and fills, count for count and in
# order, each with the call that caused it, in the same time, and at the same cost. WH_PYTHON names
# the python3 that has PyTorch and JAX.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
use_run
[ "$world_kind" = gpu ] || skip_all "softgpu runs no kernels of PyTorch's wheels"
models=
! "$python" -c "import torch" 2>/dev/null || models="resnet gpt"
! "$python" -c "import jax" 2>/dev/null || models="$models jax"
[ -n "$models" ] || skip_all "$python has neither torch nor jax"
program=$WH_TOP/tests/gpu/profiler_values.py
promises="device_work_is_seen same_work_count_for_count kernels_in_the_same_order
	each_has_the_call_that_caused_it durations_within_5_percent
	cost_of_the_profiler_at_most_natives_and_5_percent"

# record WORLD MODEL COMMAND... leaves what the profiler saw in a file.
record() {
	seen=$world_dir/$1_$2.json
	model=$2
	shift 2
	timeout 250 "$@" "$python" -B "$program" record "$model" "$seen" >"$seen.out" 2>&1 ||
		diag "$(basename "$seen"): status $?: $(tail -n 3 "$seen.out")"
}

plan $((6 * $(printf '%s\n' $models | wc -l) + 1))
serve --libraries "${WH_GPU_LIBS:+$WH_GPU_LIBS:}$(wheels)"
for model in $models; do
	record native "$model" env
	record run "$model" "$wormhole" run --
	said=$("$python" -B "$program" compare "$world_dir/native_$model.json" "$world_dir/run_$model.json" 2>&1)
	for p in $promises; do
		is "${model}_$p" "$(printf '%s\n' "$said" | sed -n "s/^$p //p")" ok
	done
done
finish
