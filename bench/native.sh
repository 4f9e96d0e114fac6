#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures nanoseconds of a null call, a launch and copies of 4 KB on this machine. The ways
# take short turns, one after the other, in reverse order each second time, so that
# disturbances affect all of them. Prints each program's lines (bench.h).
# usage: bench/native.sh [TURNS]
set -u
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD WH_BENCH_MS=${WH_BENCH_MS:-40}
# Client and server get a CPU each, if there are two: on one CPU each side would spin while
# the other waits for it.
client=
[ "$(nproc)" -lt 2 ] || { client="taskset -c 0"; export WH_SERVER_CPU=1; }
. "$WH_TOP/tests/world.sh"
bench=$WH_BUILD/bench

one() { # WAY
	case $1 in
	machine)	$client "$bench/native" baseline ;;
	native)		in_world native shared $client "$bench/native" cuda native ;;
	loopback | shm)
		in_world "$1" shared $client "$bench/native" null "$1" &&
		in_world "$1" shared $client "$bench/native" cuda "$1" ;;
	inline | notify | tcp)
		LD_LIBRARY_PATH=$softgpu $client "$bench/tcp" "$1" ;;
	esac
}

world_init softgpu || exit 1
world_server
order="machine native loopback shm inline notify tcp"
for turn in $(seq "${1:-7}"); do
	for w in $order; do one "$w" || exit 1; done
	order=$(echo "$order" | tr ' ' '\n' | tac | tr '\n' ' ')
	echo "native: turn $turn" >&2
done
