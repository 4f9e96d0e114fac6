#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures copies of 4 KB by 1 to 64 client processes and by 1 to 16 threads, on one CPU and
# on two, natively and over shm in turns. Prints `scale WORLD CPUS` and the line of scale.c.
# usage: bench/scale.sh [TURNS]
set -u
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/world.sh"
shapes=${WH_SHAPES:-"1x1 2x1 4x1 8x1 16x1 32x1 64x1 1x2 1x4 1x8 1x16"}

# Clients and workers share all of these CPUs. On one CPU each waits for the other's turn.
on_cpus() { # COUNT TURNS
	cpus=$(seq -s, 0 $(($1 - 1)))
	export WH_SERVER_CPU=$cpus
	# All clients run at the same time, so each gets as little memory as possible.
	world_server --part-size 16M --host-mem none || exit 1
	for turn in $(seq "$2"); do
		for shape in $shapes; do
			one "$1" native "$shape"
			one "$1" shm "$shape" "WH_SERVER_PID=$server_pid"
		done
		echo "scale: $1 CPUs, turn $turn" >&2
	done
	world_stop_server
}

one() { # CPUS WORLD SHAPE [VARIABLE]
	said=$(in_world "$2" shared timeout 60 env ${4:+"$4"} taskset -c "$cpus" \
		"$WH_BUILD/bench/scale" "${3%x*}" "${3#*x}") ||
		{ echo "$2, $3 on $1 CPUs failed" >&2; exit 1; }
	echo "scale $2 $1 ${said#scale }"
}

world_init softgpu || exit 1
on_cpus 1 "${1:-3}"
[ "$(nproc)" -lt 2 ] || on_cpus 2 "${1:-3}"
