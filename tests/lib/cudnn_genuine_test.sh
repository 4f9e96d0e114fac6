#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the stub over the genuine cuDNN answers as the genuine cuDNN does, to
# every call on descriptors that needs no GPU. It is skipped where there is no genuine cuDNN.
. "$(dirname "$0")/lib.sh"
genuine=${CUDA_LIB:-/usr/local/cuda/lib64}

plan 2
if [ ! -e "$genuine/libcudnn.so.9" ]; then
	skip loopback_answers_as_the_genuine_library "no $genuine/libcudnn.so.9"
	skip shm_answers_as_the_genuine_library "no $genuine/libcudnn.so.9"
	exit 0
fi
export WORMHOLE_CUDNN="$genuine/libcudnn.so.9"
LD_LIBRARY_PATH=$genuine timeout 60 "$bin/cudnn_answers" >"$tmp/genuine"
check() { # name
	[ -s "$tmp/genuine" ] && timeout 60 "$bin/cudnn_answers" >"$tmp/stub" &&
		diff "$tmp/genuine" "$tmp/stub" >"$tmp/diff"
	point "$1" || head -20 "$tmp/diff" | sed 's/^/# /'
}
(use_loopback && check loopback_answers_as_the_genuine_library)
tap_run=1
start_server
check shm_answers_as_the_genuine_library
