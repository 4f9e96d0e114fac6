#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torch.linalg, torch.sparse, cupy.linalg and cupyx.scipy.sparse solve what they are given,
# and have the same values natively and under plain `wormhole run` (solver_values.py), where
# python3 has them. WH_PYTHON names another python.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
use_run
program=$WH_TOP/tests/gpu/solver_values.py
[ "$world_kind" = gpu ] || skip_all "softgpu has neither cuSOLVER nor cuSPARSE"
modules=
for m in torch cupy; do
	! "$python" -c "import $m" 2>/dev/null || modules="$modules $m"
done
[ -n "$modules" ] || skip_all "$python has neither torch nor cupy"

# values MODULE WORLD COMMAND...: arrays into a file, what is not right as a comment
values() {
	module=$1 said=$world_dir/$1_$2
	shift 2
	timeout 300 "$@" "$python" -B "$program" "$module" "$said.npz" >"$said" 2>"$said.err" &&
		return 0
	grep '^not right' "$said" | sed 's/^/# /' | head -n 20
	tail -n 5 "$said.err" | sed 's/^/# /'
	return 1
}

same() { # MODULE
	"$python" -B "$program" compare "$world_dir/$1_native.npz" "$world_dir/$1_run.npz" \
		>"$world_dir/compared" 2>&1 && return 0
	tail -n 20 "$world_dir/compared" | sed 's/^/# /'
	return 1
}

# Nothing that runs here calls a function that is not forwarded.
none_refused() { # MODULE
	[ -e "$world_dir/$1_run.err" ] &&
		! grep -E 'cus(olver|parse)[A-Z].* is not supported' "$world_dir/$1_run.err" | sed 's/^/# /' |
			grep .
}

plan $((4 * $(echo $modules | wc -w) + 1))
serve --libraries "${WH_GPU_LIBS:+$WH_GPU_LIBS:}$(wheels)"
for m in $modules; do
	ok "${m}_solves_natively" values "$m" native env
	ok "${m}_solves_when_forwarded" values "$m" run env WORMHOLE_LOG=1 "$wormhole" run --
	ok "and_${m}_has_the_same_values" same "$m"
	ok "${m}_asks_for_nothing_that_is_refused" none_refused "$m"
done
finish
