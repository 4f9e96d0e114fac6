#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that transforms are right natively and forwarded (tests/lib/fft_test.c), and
# that torch.fft and cupy.fft, where python3 has them, have the same values to the last bit
# (fft_values.py). WH_PYTHON names another python.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
prog=$WH_BUILD/tests/lib/bin/fft
needs_programs "$prog"
has_library libcufft.so.12 || skip_all "no libcufft.so.12 on this machine"

plan 6
same_everywhere transforms shared 120 "$prog"
use_run
serve --libraries "${WH_GPU_LIBS:+$WH_GPU_LIBS:}$(wheels)"
values() { # MODULE WORLD COMMAND...
	module=$1 said=$world_dir/$2
	shift 2
	timeout 300 "$@" "$python" -B "$WH_TOP/tests/gpu/fft_values.py" "$module" >"$said" 2>"$said.err" ||
		diag "$(tail -n 5 "$said.err")"
}
for module in torch cupy; do
	if [ "$world_kind" != gpu ] || ! "$python" -c "import $module" 2>/dev/null; then
		skip "${module}_has_the_same_values_over_shm" "no GPU, or no $module in $python"
		continue
	fi
	values $module native env
	values $module run "$wormhole" run --
	diff "$world_dir/native" "$world_dir/run" | sed 's/^/# /' | head -n 20
	ok "${module}_has_the_same_values_over_shm" eval \
		'[ -s "$world_dir/native" ] && cmp "$world_dir/native" "$world_dir/run"'
done
finish
