#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torch.linalg, torch.sparse, cupy.linalg and cupyx.scipy.sparse solve what they are given,
# and have natively and forwarded the same values (solver_values.py), where python3 has
# them. WH_PYTHON names another python.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
python=${WH_PYTHON:-python3}
program=$WH_TOP/tests/gpu/solver_values.py
has_library libcusolver.so.12 || skip_all "no libcusolver.so.12 on this machine"
has_library libcusparse.so.12 || skip_all "no libcusparse.so.12 on this machine"

# Wheels find their own libraries before LD_LIBRARY_PATH's: ours are there first.
ours=$(printf '%s:' "$stubs"/lib*.so.[0-9]*)
values() { # MODULE WORLD: its values into a file, its residuals to standard output
	set -- "$1" "$2" "$([ "$2" = native ] || echo "$ours")"
	in_world "$2" shared env ${3:+LD_PRELOAD="$3"} timeout 300 "$python" "$program" "$1" \
		"$world_dir/$1.$2.npz" >"$world_dir/out" 2>"$world_dir/err" && return 0
	grep '^not right' "$world_dir/out" | sed 's/^/# /'
	tail -n 8 "$world_dir/err" | sed 's/^/# /'
	return 1
}

same() { # MODULE
	"$python" "$program" compare "$world_dir/$1.native.npz" "$world_dir/$1.shm.npz" >"$world_dir/out" \
		2>&1 && return 0
	tail -n 20 "$world_dir/out" | sed 's/^/# /'
	return 1
}

# Calls that an interface of ours refused: none of what runs here is one.
none_refused() { # MODULE
	! WORMHOLE_LOG=1 values "$1" shm || ! grep -E 'cus(parse|olver)[A-Z].*not supported' "$world_dir/err" |
		sed 's/^/# /' | grep .
}

plan 8
for module in torch cupy; do
	if ! "$python" -c "import $module" 2>/dev/null; then
		skip "${module}_solves_natively" "no $module in $python"
		skip "${module}_solves_over_shm" "no $module in $python"
		skip "${module}_has_the_same_values_over_shm" "no $module in $python"
		skip "${module}_asks_for_nothing_that_is_refused" "no $module in $python"
		continue
	fi
	ok "${module}_solves_natively" values $module native
	ok "${module}_solves_over_shm" values $module shm
	ok "${module}_has_the_same_values_over_shm" same $module
	ok "${module}_asks_for_nothing_that_is_refused" none_refused $module
done
finish
