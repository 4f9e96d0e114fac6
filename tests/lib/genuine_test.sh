#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# With a GPU and NVIDIA's libraries: the same calls natively and forwarded give
# the same bits. CUDA_LIB names the libraries' folder, WH_BACKEND the driver.
. "$(dirname "$0")/lib.sh"
folder=${CUDA_LIB:-/usr/local/cuda/lib64}
driver=${WH_GPU_DRIVER:-$(ldconfig -p | awk '$1 == "libcuda.so.1" { print $NF; exit }')}

echo "TAP version 13"
echo "1..3"
if [ ! -e /dev/nvidiactl ] || [ -z "$driver" ] || [ ! -e "$folder/libcublas.so.13" ]; then
	for name in native_calls_run forwarded_over_shm_gives_the_same_bits forwarded_in_process_gives_the_same_bits; do
		n=$((n + 1))
		echo "ok $n - $name # SKIP needs an NVIDIA GPU, its driver and $folder/libcublas.so.13"
	done
	exit 0
fi
unset WORMHOLE_CUBLAS WORMHOLE_CURAND
export WORMHOLE_LIB_PATH="$folder"
WH_BACKEND=$driver

LD_LIBRARY_PATH=$folder:$(dirname "$driver") timeout 100 "$bin/genuine" >"$tmp/native"
point "native_calls_run"
start_server
timeout 100 "$bin/genuine" >"$tmp/shm" && diff "$tmp/native" "$tmp/shm" >"$tmp/diff"
point "forwarded_over_shm_gives_the_same_bits" || sed 's/^/# /' "$tmp/diff" "$tmp/server.err" | head -20
stop_server
use_loopback
timeout 100 "$bin/genuine" >"$tmp/loopback" 2>"$tmp/err" && diff "$tmp/native" "$tmp/loopback" >"$tmp/diff"
point "forwarded_in_process_gives_the_same_bits" || sed 's/^/# /' "$tmp/diff" "$tmp/err" | head -20
