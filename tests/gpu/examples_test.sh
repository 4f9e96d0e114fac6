#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the six example programs, with both runtimes, print the same natively,
# over loopback and over shm.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
needs_programs "$WH_BUILD/examples/shared/streams"

plan 36
for kind in shared static; do
	for p in array_add vectorAdd matmul reduce streams threads; do
		same_everywhere "${p}_$kind" $kind 60 "$WH_BUILD/examples/$kind/$p"
	done
done
finish
