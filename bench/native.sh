#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make -C bench native`: nanoseconds of a null call, a launch and a copy of
# 4 KB on this machine, over shm (two processes) and loopback (one process),
# next to softgpu without Wormhole. Writes build/bench/native.md.
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
native=$WH_BUILD/bench/native
export WORMHOLE_BACKEND="$WH_BUILD/softgpu/libcuda.so.1"
export WORMHOLE_SESSION="$WH_BUILD/server/libwormhole-session.so"
work=$(mktemp -d)
server=
# Client and server on a CPU each, where there are two: on one CPU each would
# spin while the other waits for it.
client_cpu= server_cpu=
[ "$(nproc)" -lt 2 ] || { client_cpu="taskset -c 0" server_cpu="taskset -c 1"; }
trap '[ -z "$server" ] || kill $server 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

start_server() {
	export WORMHOLE_SOCKET="$work/socket"
	mkfifo "$work/log"
	exec 9<>"$work/log"
	$server_cpu "$WH_BUILD/server/wormhole-server" --backend "$WORMHOLE_BACKEND" \
		--socket "$WORMHOLE_SOCKET" >"$work/log" 2>&1 9<&- &
	server=$!
	timeout 20 grep -q -m 1 listening <&9 ||
		{ echo "wormhole-server did not start" >&2; exit 1; }
}

# What a program sees, through the stub library.
stubs() { WORMHOLE_TRANSPORT=$1 LD_LIBRARY_PATH=$WH_BUILD/client-stubs $client_cpu "$native" cuda "$1"; }

all() {
	$client_cpu "$native" baseline
	LD_LIBRARY_PATH=$WH_BUILD/softgpu $client_cpu "$native" cuda softgpu
	$client_cpu "$native" null loopback
	stubs loopback
	$client_cpu "$native" null shm
	stubs shm
}

start_server
all >"$work/figures"
{
	echo "## Nanoseconds on one machine, without VMs"
	echo
	echo "date $(date +%F), commit $(git -C "$WH_TOP" describe --always --dirty --abbrev=12 2>/dev/null || echo unknown), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n1), $(nproc) CPUs, kernel $(uname -r), load $(cut -d' ' -f1 /proc/loadavg)"
	echo
	echo "Every sample is the mean of a batch of at least 50 µs; softgpu_* has no Wormhole in it. Client on CPU 0, server on CPU 1."
	echo
	echo "| what | samples | min ns | median ns | max ns |"
	echo "|---|---:|---:|---:|---:|"
	awk '{ printf "| %s | %s | %.0f | %.0f | %.0f |\n", $2, $4, $5, $6, $7 }' "$work/figures"
} >"$WH_BUILD/bench/native.md"
cat "$WH_BUILD/bench/native.md"
