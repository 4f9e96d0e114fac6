#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that torch.linalg, torch.sparse, cupy.linalg and cupyx.scipy.sparse, where
# python3 has them, solve what they are given, and have the same values natively and under plain
# `wormhole run` (solver_values.py). WH_PYTHON names another python.
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

# values MODULE WORLD COMMAND... writes the arrays into a file; a problem that is not right is
# said by its name.
values() {
	module=$1 said=$world_dir/$1_$2
	shift 2
	timeout 300 "$@" "$python" -B "$program" "$module" "$said.npz" >"$said" 2>"$said.err"
	grep '^right' "$said" | cut -d' ' -f2- | sed 's/ [^ ]*$//' | sort >"$said.right"
}

# Versions differ in what they solve at all, so a problem that is right natively must be right
# here.
solves() { # MODULE
	[ -s "$world_dir/$1_native.right" ] || { tail -n 5 "$world_dir/$1_native.err"; return 1; }
	comm -23 "$world_dir/$1_native.right" "$world_dir/$1_run.right" >"$world_dir/lost"
	[ ! -s "$world_dir/lost" ] || { head -n 20 "$world_dir/lost"; tail -n 5 "$world_dir/$1_run.err"; return 1; }
}

same() { # MODULE
	"$python" -B "$program" compare "$world_dir/$1_native.npz" "$world_dir/$1_run.npz" \
		>"$world_dir/compared" 2>&1 && return 0
	tail -n 20 "$world_dir/compared" | sed 's/^/# /'
	return 1
}

# Nothing that runs here may call a function that is not forwarded.
none_refused() { # MODULE
	[ -e "$world_dir/$1_run.err" ] &&
		! grep -E 'cus(olver|parse)[A-Z].* is not supported' "$world_dir/$1_run.err" | sed 's/^/# /' |
			grep .
}

plan $((3 * $(echo $modules | wc -w) + 1))
serve --libraries "${WH_GPU_LIBS:+$WH_GPU_LIBS:}$(wheels)"
for m in $modules; do
	values "$m" native env
	values "$m" run env WORMHOLE_LOG=1 "$wormhole" run --
	diag "$m: natively not right: $(grep '^not right' "$world_dir/${m}_native" | cut -d' ' -f3-4 | tr '\n' ',')"
	ok "${m}_solves_what_it_solves_natively" solves "$m"
	ok "and_${m}_has_the_same_values" same "$m"
	ok "${m}_asks_for_nothing_that_is_refused" none_refused "$m"
done
finish
