#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises on a GPU what those attacks of tests/attack/ promise over softgpu that depend on
# the driver: memory beyond the quota, SMs beyond the share, kernels without an end. It takes two
# minutes.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
world_stop_server	# each attack has its own server
forget_genuine_libraries
[ "$world_kind" = softgpu ] || export WH_BACKEND=$driver

# holds NAME runs an attack, and prints which of its points fail.
holds() {
	timeout 200 "$WH_BUILD/tests/attack/$1_test.t" >"$world_dir/tap" 2>&1
	rc=$?
	grep -A 4 -E '^(not ok|Bail out!)' "$world_dir/tap"
	return $rc
}

plan 3
for attack in escape contexts endless; do
	ok "$attack" holds $attack
done
finish
