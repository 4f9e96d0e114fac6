#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures the Neuron mix (tests/programs/neuron.cu) on this machine. The worlds take turns,
# in reverse order each second time. Prints
#
#	neuron WORLD CALLS NS-PER-CALL REQUESTS CLIENT-USER-MS CLIENT-KERNEL-MS \
#		SERVER-USER-MS SERVER-KERNEL-MS ELAPSED-MS
#
# CPU times are those of the program, and of the server with its workers, from start to end, in
# user mode and in the kernel.
# Worlds are those of tests/world.sh. `notify` and `tcp` are small forwarders (mix.c), to
# which every call goes; `inline` does their work in one process.
# usage: bench/neuron.sh [TURNS [CALLS]]
set -u
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
client=
[ "$(nproc)" -lt 2 ] || { client="taskset -c 0"; export WH_SERVER_CPU=1; }
. "$WH_TOP/tests/world.sh"
program=$WH_BUILD/tests/programs/bin/shared/neuron
calls=${2:-100000}

# Returns hundredths of a second of the server and of all processes below it, including
# ended ones: in user mode, and in the kernel.
server_ticks() {
	of_user=0 of_kernel=0
	for pid in "$server_pid" $(pgrep -P "$server_pid"); do
		read -r _ _ _ _ _ _ _ _ _ _ _ _ _ user sys cuser csys _ <"/proc/$pid/stat" 2>/dev/null || continue
		of_user=$((of_user + user + cuser))
		of_kernel=$((of_kernel + sys + csys))
	done
	echo $of_user $of_kernel
}

# Runs a small forwarder with its own server.
forwarder() { # WAY
	TIMEFORMAT="time %R %U %S"
	{ time LD_LIBRARY_PATH=$softgpu $client timeout 100 "$WH_BUILD/bench/mix" "$1" "calls=$calls" \
		>"$world_dir/said" 2>&1; } 2>"$world_dir/time" || { cat "$world_dir/said" >&2; exit 1; }
	cat "$world_dir/said" "$world_dir/time" | awk -v world="$1" -v calls="$calls" '
		/^rate/		{ ns = 1e9 / $2 }
		/^crossed:/	{ requests = $2; used = $5 " " $8 " " $12 " " $15 }
		/^time/	{ printf "neuron %s %d %.1f %d %s %.0f\n", world, calls, ns, requests, used, $2 * 1000 }'
}

one() { # WORLD
	case $1 in
	inline | notify | tcp)
		forwarder "$1"
		return
		;;
	esac
	read -r user_before kernel_before <<<"$(server_ticks)"
	TIMEFORMAT="time %R %U %S"
	{ time WORMHOLE_STATS=1 in_world "$1" shared $client timeout 100 "$program" "calls=$calls" >"$world_dir/said" 2>&1; } \
		2>"$world_dir/time" || { cat "$world_dir/said" >&2; exit 1; }
	read -r user_after kernel_after <<<"$(server_ticks)"
	cat "$world_dir/said" "$world_dir/time" | awk -v world="$1" -v calls="$calls" \
		-v server="$(((user_after - user_before) * 10)) $(((kernel_after - kernel_before) * 10))" '
		/^rate/				{ ns = 1e9 / $2 }
		/^wormhole: info: [0-9]+ requests/	{ requests = $3 }
		/^time/	{ printf "neuron %s %d %.1f %d %.0f %.0f %s %.0f\n", world, calls, ns, requests, $3 * 1000, $4 * 1000, server, $2 * 1000 }'
}

world_init softgpu || exit 1
world_server
order="native loopback shm inline notify tcp"
for turn in $(seq "${1:-3}"); do
	for w in $order; do one "$w"; done
	order=$(echo "$order" | tr ' ' '\n' | tac | tr '\n' ' ')
	echo "neuron: turn $turn" >&2
done
