#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a stock PyTorch trains a tiny GPT-2 over softgpu under `wormhole run`, with
# the CPU's losses, and that what it does by cuSOLVER, cuBLAS, cuSPARSE and cuDNN agrees with the
# CPU, over softgpu's stand-ins. WH_PYTHON names the python3 whose PyTorch has PTX, as Debian 13's
# python3-torch-cuda has and the wheels of PyPI have not; else it is that of tools/get-torch.sh.
case ${WH_TOP:=@TOP@} in @*) WH_TOP=$(cd "$(dirname "$0")/../.." && pwd) ;; esac
case ${WH_BUILD:=@BUILD@} in @*) WH_BUILD=$WH_TOP/build ;; esac
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
torch=$WH_BUILD/torch/python3
python=${WH_PYTHON:-$([ -x "$torch" ] && echo "$torch" || echo python3)}
wormhole=$WH_BUILD/host/wormhole
program=$WH_TOP/examples/train_tiny.py
libraries=$WH_TOP/tests/clients/torch_libraries.py

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

# agrees WHAT: what PyTorch does by libraries. TORCH_CUDNN_V8_API_DISABLED makes it use cuDNN's
# classic interface, which is what the stand-in has.
agrees() {
	TORCH_CUDNN_V8_API_DISABLED=1 timeout 300 "$wormhole" run -- "$python" "$libraries" "$1" >"$world_dir/said" 2>&1
}

# library_point NAME WHAT LIBRARY: a build without the library's header or nvcc has no stand-in.
library_point() {
	if [ ! -e "$WH_BUILD/softgpu/$3" ]; then
		skip "$1" "no $3 in build/softgpu"
	elif agrees "$2"; then
		ok "$1" true
	elif grep -q 'libtorch_cuda_linalg.so: cannot open' "$world_dir/said"; then
		skip "$1" "this PyTorch lacks the name libtorch_cuda_linalg.so"
	else
		diag "$(tail -n 3 "$world_dir/said")"
		ok "$1" false
	fi
}

plan 7
ok server_starts [ "$served" = 0 ]
ok it_trains_with_plain_attention_as_on_the_cpu trains
ok it_trains_with_fused_attention_as_on_the_cpu trains --attention fused
ok it_trains_in_bf16_as_on_the_cpu trains --attention fused --type bf16
library_point linear_algebra_agrees_with_the_cpu linalg libcusolver.so.12
library_point sparse_products_agree_with_the_cpu sparse libcusparse.so.12
library_point convolutions_agree_with_the_cpu dnn libcudnn.so.9
finish
