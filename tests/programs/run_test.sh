#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test is installed as NAME.t. It promises that the program NAME, with small sizes, prints the
# same on softgpu in its process (native), over loopback and over shm, with both runtimes. What
# softgpu itself does not have is a skip that says so.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
name=$(basename "$0" .t)
bin=$WH_BUILD/tests/programs/bin

need_built "$bin/shared/$name"
case $name in
lenet*)		set -- batch=4 steps=3 width=5 ;;
alexnet*)	set -- batch=2 steps=2 image=67 width=16 ;;
montecarlo)	set -- n=20000 ;;
threads*)	set -- rounds=5 n=512 ;;
neuron)		set -- calls=2000 ;;
blas_threads)	set -- rounds=5 n=16 ;;
*)		set -- ;;
esac

needs() { # LIBRARY...
	for l; do
		[ -e "$softgpu/$l" ] || skip_all "softgpu has no stand-in for $l"
	done
}
case $name in
lenet | alexnet | blas_threads)	needs libcublas.so.13 libcurand.so.10 ;;
montecarlo | neuron)	needs libcurand.so.10 ;;
esac
world_init softgpu
world_server
plan $([ $name = lenet ] && echo 12 || echo 6)
for kind in shared static; do
	same_everywhere "${name}_$kind" $kind 60 "$bin/$kind/$name" "$@"
	[ $name != lenet ] ||
		same_everywhere "four_networks_$kind" $kind 60 "$bin/$kind/$name" "$@" threads=4
done
finish
