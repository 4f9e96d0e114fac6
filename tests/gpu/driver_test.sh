#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the tests of tests/shm/, programs of the driver API, pass over loopback
# and shm with the real driver behind. It also promises that what softgpu does with graphs,
# textures, managed variables and IPC holds natively: so the tests without a GPU expect what the
# real driver does.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
bin=$WH_BUILD/tests/shm/bin

passes() { # WORLD FILE
	in_world "$1" shared timeout 100 "$2" >"$world_dir/tap" 2>&1
	rc=$?
	grep -A 4 -E '^(not ok|Bail out!)' "$world_dir/tap" || tail -n 3 "$world_dir/tap"
	[ $rc = 0 ] || echo "status $rc"
	return $rc
}

plan 35
for p in driver memory stream module graph conditional green texture managed ipc ipc_files ipc_pools logs; do
	for w in loopback shm; do
		ok "${p}_$w" passes $w "$bin/$p"
	done
done
ok mirrors_shm passes shm "$bin/mirrors"
for p in graph conditional green texture managed ipc ipc_files ipc_pools; do
	ok ${p}_native passes native "$bin/$p"
done
finish
