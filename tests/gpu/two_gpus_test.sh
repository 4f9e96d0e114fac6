#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that PyTorch on two GPUs under plain `wormhole run` has its native values:
# peers, NCCL in one process and in two by torchrun. Each line of two_gpus_values.py has the
# values that it has natively.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
use_run
"$python" -c "import sys, torch; sys.exit(torch.cuda.device_count() < 2)" 2>/dev/null ||
	skip_all "no torch in $python, or no two GPUs"
program=$WH_TOP/tests/gpu/two_gpus_values.py

# values WORLD COMMAND... prints the values of one process, then those of two, whose lines come in
# any order.
values() {
	said=$world_dir/$1
	shift
	timeout 200 "$@" "$python" -B "$program" >"$said" 2>"$said.err" ||
		diag "$(basename "$said"): status $?: $(tail -n 3 "$said.err")"
	timeout 200 "$@" "$python" -B -m torch.distributed.run --nproc-per-node 2 --master-port 29511 "$program" \
		>"$said.two" 2>>"$said.err" ||
		diag "$(basename "$said"), two processes: status $?: $(grep -m 3 -i error "$said.err")"
	sort "$said.two" >>"$said"
}

names=$(sed -n '/^@of_/{n;s/def \([a-z0-9_]*\).*/\1/p}' "$program")
plan $(($(echo "$names" | wc -l) + 1))
serve --libraries "${WH_GPU_LIBS:+$WH_GPU_LIBS:}$(wheels)"
values native env
values forwarded "$wormhole" run --
for n in $names; do
	is "$n" "$(grep "^$n " "$world_dir/forwarded")" "$(grep "^$n " "$world_dir/native" || echo "nothing natively")"
done
finish
