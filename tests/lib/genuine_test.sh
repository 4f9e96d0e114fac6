#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the same calls give the same bits natively and forwarded: with softgpu
# and its libraries, and, where there is a GPU, with NVIDIA's. CUDA_LIB names the folder of
# NVIDIA's libraries, WH_GPU_DRIVER their driver.
. "$(dirname "$0")/lib.sh"
unset WORMHOLE_CUBLAS WORMHOLE_CURAND

native() { LD_LIBRARY_PATH=$folder:$(dirname "$WH_BACKEND") WORMHOLE_TRANSPORT='' timeout 100 "$bin/genuine"; }
forwarded() { timeout 100 "$bin/genuine" >"$tmp/forwarded" 2>"$tmp/err"; }
same() { diff "$tmp/native" "$tmp/forwarded" >"$tmp/diff"; }
why() { sed 's/^/# /' "$tmp/diff" "$tmp/err" "$tmp/server.err" | head -20; }

compare() { # owner, folder of the libraries, driver
	folder=$2
	WH_BACKEND=$3
	export WORMHOLE_LIB_PATH="$folder"
	: >"$tmp/server.err"
	native >"$tmp/native" 2>"$tmp/err" && [ "$(wc -l <"$tmp/native")" -gt 100 ]
	point "calls_of_$1_run_natively" || why
	start_server && forwarded && same
	point "over_shm_they_give_the_same_bits" || why
	stop_server
	(use_loopback && forwarded && same)
	point "in_process_they_give_the_same_bits" || why
}

skipped() { skip "$1" "needs an NVIDIA GPU, its driver and $nvidia/libcublas.so.13"; }

nvidia=${CUDA_LIB:-/usr/local/cuda/lib64}
driver=${WH_GPU_DRIVER:-$(ldconfig -p | awk '$1 == "libcuda.so.1" { print $NF; exit }')}

plan 6
compare softgpu "$WH_BUILD/softgpu" "$WH_BUILD/softgpu/libcuda.so.1"
if [ -e /dev/nvidiactl ] && [ -n "$driver" ] && [ -e "$nvidia/libcublas.so.13" ]; then
	compare nvidia "$nvidia" "$driver"
else
	skipped calls_of_nvidia_run_natively
	skipped over_shm_they_give_the_same_bits
	skipped in_process_they_give_the_same_bits
fi
