#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a stock PyTorch trains a tiny GPT-2 over softgpu under `wormhole run`, with
# the CPU's losses. WH_PYTHON names the python3 whose PyTorch has PTX, as Debian 13's
# python3-torch-cuda has (tools/get-torch.sh) and the wheels of PyPI have not.
case ${WH_TOP:=@TOP@} in @*) WH_TOP=$(cd "$(dirname "$0")/../.." && pwd) ;; esac
case ${WH_BUILD:=@BUILD@} in @*) WH_BUILD=$WH_TOP/build ;; esac
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
python=${WH_PYTHON:-python3}
wormhole=$WH_BUILD/host/wormhole
program=$WH_TOP/examples/train_tiny.py

"$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null ||
	skip_all "$python has no PyTorch (\$WH_PYTHON names another)"
world_init softgpu || skip_all "$world_missing"
forget_genuine_libraries
export WORMHOLE_DIR="$world_dir/server" PYTHONDONTWRITEBYTECODE=1
trap '"$wormhole" stop --force >/dev/null 2>&1; world_end' EXIT

"$wormhole" serve --backend softgpu --state none --daemon >"$world_dir/serve" 2>&1
served=$?
archs=$("$wormhole" run -- "$python" -c 'import torch; print(torch._C._cuda_getArchFlags() or "no CUDA")' 2>&1)
case $archs in
*compute_*) ;;
*) skip_all "the PyTorch of $python has no PTX, which is all that softgpu runs: $(echo "$archs" | tail -n 1)" ;;
esac

# trains OPTION...
trains() {
	timeout 300 "$wormhole" run -- "$python" "$program" "$@" >"$world_dir/said" 2>&1 && return
	diag "$(tail -n 3 "$world_dir/said")"
	return 1
}

plan 4
ok server_starts [ "$served" = 0 ]
ok it_trains_with_plain_attention_as_on_the_cpu trains
ok it_trains_with_fused_attention_as_on_the_cpu trains --attention fused
ok it_trains_in_bf16_as_on_the_cpu trains --attention fused --type bf16
finish
