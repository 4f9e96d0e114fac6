#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stock PyTorch under plain `wormhole run`, without limits and with a quota and a share:
# each line of torch_values.py has the values that it has natively. WH_PYTHON names
# the python3 that has torch; WH_TORCH_WORDS the tests that are wanted.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
world_stop_server
python=${WH_PYTHON:-python3}
wormhole=$WH_BUILD/host/wormhole
export WORMHOLE_DIR="$world_dir/server"
"$python" -c "import torch" 2>/dev/null || skip_all "$python has no torch"
[ "$world_kind" = gpu ] || skip_all "PyTorch is too large for softgpu"

# values FILE COMMAND...: of all tests; a process that dies is gone on from behind the test.
values() {
	file=$1
	shift
	timeout 500 "$@" "$python" "$WH_TOP/tests/gpu/torch_values.py" $WH_TORCH_WORDS \
		>"$file" 2>"$file.err" || diag "$(basename "$file"): $(tail -n 3 "$file.err")"
}

trap '"$wormhole" stop >/dev/null 2>&1; world_end' EXIT
names=$(sed -n '/^@test/{n;s/def \([a-z0-9_]*\).*/\1/p}' "$WH_TOP/tests/gpu/torch_values.py")
[ -z "$WH_TORCH_WORDS" ] || names=$(for n in $names; do
	for w in $WH_TORCH_WORDS; do case $n in *"$w"*) echo "$n"; break ;; esac; done
done)
plan $((2 * $(echo "$names" | wc -l) + 1))
ok server_starts env LD_LIBRARY_PATH="$server_path" "$wormhole" serve --backend "$driver" --daemon
values "$world_dir/native" env
values "$world_dir/free" "$wormhole" run --
values "$world_dir/limited" "$wormhole" run --mem 20G --sm 50 --
for world in free limited; do
	for n in $names; do
		is "${world}_$n" "$(grep "^$n " "$world_dir/$world")" "$(grep "^$n " "$world_dir/native")"
	done
done
finish
