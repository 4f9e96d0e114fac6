#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Transforms are right natively and forwarded (tests/lib/fft_test.c), and torch.fft and
# cupy.fft have the same values to the last bit (fft_values.py), where python3 has them.
# WH_PYTHON names another python.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
prog=$WH_BUILD/tests/lib/bin/fft
python=${WH_PYTHON:-python3}
needs_programs "$prog"
has_library libcufft.so.12 || skip_all "no libcufft.so.12 on this machine"

# Wheels find their own libraries before LD_LIBRARY_PATH's: ours are there first.
ours=$(printf '%s:' "$stubs"/lib*.so.[0-9]*)
values() { # MODULE WORLD
	set -- "$1" "$2" "$([ "$2" = native ] || echo "$ours")"
	in_world "$2" shared env ${3:+LD_PRELOAD="$3"} timeout 300 "$python" \
		"$WH_TOP/tests/gpu/fft_values.py" "$1"
}

plan 5
same_everywhere transforms shared 120 "$prog"
for module in torch cupy; do
	if [ "$world_kind" != gpu ] || ! "$python" -c "import $module" 2>/dev/null; then
		skip "${module}_has_the_same_values_over_shm" "no GPU, or no $module in $python"
		continue
	fi
	values $module native >"$world_dir/native" 2>"$world_dir/native.err" ||
		diag "$(tail -n 5 "$world_dir/native.err")"
	values $module shm >"$world_dir/shm" 2>"$world_dir/shm.err" ||
		diag "$(tail -n 5 "$world_dir/shm.err")"
	diff "$world_dir/native" "$world_dir/shm" | sed 's/^/# /' | head -n 20
	ok "${module}_has_the_same_values_over_shm" eval \
		'[ -s "$world_dir/native" ] && cmp "$world_dir/native" "$world_dir/shm"'
done
finish
