#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that semi-structured sparse products of torch have the same values natively
# and over shm (sparse_values.py), with NVIDIA's cuSPARSELt behind both. WH_PYTHON names another
# python.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
python=${WH_PYTHON:-python3}
[ "$world_kind" = gpu ] || skip_all "no GPU"
has_library libcusparseLt.so.0 || skip_all "no libcusparseLt.so.0 on this machine"
"$python" -c "import torch" 2>/dev/null || skip_all "no torch in $python"

# Wheels find their own libraries before those of LD_LIBRARY_PATH, so ours are preloaded.
ours=$(printf '%s:' "$stubs"/lib*.so.[0-9]*)
values() { # WORLD [LIBRARIES]
	in_world "$1" shared env ${2:+LD_PRELOAD="$2"} timeout 300 "$python" \
		"$WH_TOP/tests/gpu/sparse_values.py" >"$world_dir/$1" 2>"$world_dir/$1.err" ||
		diag "$1: $(tail -n 5 "$world_dir/$1.err")"
}

plan 2
values native
values shm "$ours"
ok sparse_products_are_right_natively grep -q "as the dense one: True" "$world_dir/native"
diff "$world_dir/native" "$world_dir/shm" | sed 's/^/# /' | head -n 20
ok they_have_the_same_values_over_shm cmp "$world_dir/native" "$world_dir/shm"
finish
