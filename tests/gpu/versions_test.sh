#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that libraries of wheels, opened by their paths under plain `wormhole run`,
# have the versions that they have natively, also where the server has others (WH_OTHER_LIBS names
# folders, with colons between) and no variable names one. WH_PYTHON names the python3 that has
# the wheels.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
use_run
[ "$world_kind" = gpu ] || skip_all "the genuine libraries need a GPU"
program=$WH_TOP/tests/gpu/versions_values.py
timeout 120 "$python" -B "$program" >"$world_dir/native" 2>/dev/null
[ -s "$world_dir/native" ] || skip_all "$python has no wheels of NVIDIA's libraries"

plan $(($(wc -l <"$world_dir/native") + 2))
serve --libraries "${WH_OTHER_LIBS:+$WH_OTHER_LIBS:}$(wheels)${WH_GPU_LIBS:+:$WH_GPU_LIBS}"
timeout 300 "$wormhole" run -- "$python" -B "$program" >"$world_dir/run" 2>"$world_dir/err"
while read -r name version; do
	is "${name}_has_the_programs_version" "$(sed -n "s/^$name //p" "$world_dir/run")" "$version"
done <"$world_dir/native"
is nobody_is_told_of_a_newer_one "$(grep -c 'the program has' "$world_dir/err")" 0
finish
