#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the families of real programs, in full size, print bit for bit the same
# natively, over loopback and over shm. A program whose library is missing on this machine is a
# skip that names it. WH_GPU_SMALL=1 takes smaller sizes.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
bin=$WH_BUILD/tests/programs/bin
needs_programs "$bin/shared/threads"

# family KIND NAME LIBRARIES [ARGUMENT...] runs one program in every world.
family() {
	kind=$1 name=$2 libraries=$3
	shift 3
	for l in $libraries; do
		has_library "$l" && continue
		for w in native loopback shm; do skip "${name}_${kind}_$w" "no $l on this machine"; done
		return
	done
	if [ ! -x "$bin/$kind/$name" ]; then
		for w in native loopback shm; do skip "${name}_${kind}_$w" "not built: no headers of its libraries"; done
		return
	fi
	same_everywhere "${name}_$kind" "$kind" 120 "$bin/$kind/$name" "$@"
}

blas="libcublas.so.13 libcublasLt.so.13 libcurand.so.10"
lenet="batch=64 steps=50" alexnet="batch=64 steps=4" n=4000000 rounds=50 calls=50000
[ -z "${WH_GPU_SMALL:-}" ] || {
	lenet="batch=8 steps=5 width=5" alexnet="batch=2 steps=2 image=67 width=16"
	n=20000 rounds=5 calls=2000
}

plan 90
for kind in shared static; do
	family $kind threads "" rounds=$rounds
	family $kind threads_ptds "" rounds=$rounds
	family $kind graphs ""
	family $kind ipc ""
	family $kind managed ""
	family $kind printing ""
	family $kind clusters ""
	family $kind layers ""
	family $kind montecarlo libcurand.so.10 n=$n
	family $kind neuron libcurand.so.10 calls=$calls
	family $kind blas_threads "$blas" rounds=$rounds
	# shellcheck disable=SC2086
	family $kind lenet "$blas" $lenet
	# shellcheck disable=SC2086
	family $kind alexnet "$blas" $alexnet
	# shellcheck disable=SC2086
	family $kind lenet_dnn "$blas libcudnn.so.9" $lenet
	# shellcheck disable=SC2086
	family $kind alexnet_dnn "$blas libcudnn.so.9" $alexnet
done
finish
