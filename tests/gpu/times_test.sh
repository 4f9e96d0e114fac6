#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that graphs over shm are captured and made ready to run in at most twice the
# time that they take natively; each world has three turns, of which the best counts. Copies of
# nothing succeed as they do natively.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
bin=$WH_BUILD/tests/shm/bin
out=$world_dir/times

for _ in 1 2 3; do
	for w in native shm; do
		in_world $w shared timeout 100 "$bin/times" 2>&1 | sed "s/^/$w /" >>"$out"
	done
done
sed 's/^/# /' "$out"
best() { awk -v w="$1" -v n="$2" '$1 == w && $2 == n && (!b || $3 < b) { b = $3 } END { print b + 0 }' "$out"; }
# within NAME TIMES WHAT compares times. softgpu takes no time, so the times there are those of
# the crossings alone.
within() {
	if [ "${WH_TEST_DEVICE:-gpu}" = gpu ]; then
		ok "$1" no_more_than "$2" "$3"
	else
		skip "$1" "softgpu's times are none"
	fi
}
no_more_than() { # TIMES NAME
	awk -v n="$(best native "$2")" -v s="$(best shm "$2")" -v t="$1" 'BEGIN { exit !(n > 0 && s > 0 && s <= n * t) }'
}

plan 4
is copies_of_nothing_succeed_as_natively "$(awk '$2 == "nothing"' "$out" | sort -u | tr '\n' ' ')" "native nothing 0 shm nothing 0 "
within capture_takes_at_most_twice_the_native_time 2 capture
within instantiation_takes_at_most_twice_the_native_time 2 instantiate
within a_launch_and_its_wait_take_at_most_half_more 1.5 launch_and_wait
finish
