#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures the copy bandwidth of the driver alone and through loopback and shm, with the
# same program each time, and prints the ratio to the driver alone at the end. There are
# three turns: a disturbance makes copies slower for longer than one figure takes, so the
# best of each counts.
#
# usage: bench/copy.sh [LARGEST]	WH_BACKEND=/path/to/libcuda.so.1 (softgpu)
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
: "${WH_BACKEND:=$WH_BUILD/softgpu/libcuda.so.1}"
largest=${1:-}
tmp=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill $server 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT PIPE TERM
export WORMHOLE_BACKEND=$WH_BACKEND WORMHOLE_SESSION=$WH_BUILD/server/libwormhole-session.so
export WORMHOLE_SOCKET=$tmp/socket

copy() { # name, folder of libcuda.so.1
	LD_LIBRARY_PATH=$2 "$WH_BUILD/bench/copy" "$1" $largest | tee -a "$tmp/figures"
}

mkfifo "$tmp/log"
exec 9<>"$tmp/log"
"$WH_BUILD/server/wormhole-server" --backend "$WH_BACKEND" >"$tmp/log" 2>&1 9<&- &
server=$!
timeout 20 grep -q -m 1 listening <&9 || { echo "wormhole-server did not start" >&2; exit 1; }

for _ in 1 2 3; do
	copy native "$(dirname "$WH_BACKEND")"
	WORMHOLE_TRANSPORT=loopback copy loopback "$WH_BUILD/client-stubs"
	WORMHOLE_TRANSPORT=shm copy shm "$WH_BUILD/client-stubs"
done

# Turns lines `name_kind_bytes value unit` into a table: kind, bytes, native, loopback, shm
# and ratios.
awk '$1 != "#" {
	split($1, part, "_"); point = substr($1, length(part[1]) + 2)
	if (part[1] == "native" && !(("native", point) in value)) order[++n] = point
	if ($2 > value[part[1], point]) value[part[1], point] = $2
}
END {
	printf "%-30s %9s %9s %9s %9s %9s\n", "GB/s", "native", "loopback", "shm", "loop/nat", "shm/nat"
	for (i = 1; i <= n; i++) {
		p = order[i]; v = value["native", p]; l = value["loopback", p]; s = value["shm", p]
		printf "%-30s %9.4g %9.4g %9.4g %9.3f %9.3f\n", p, v, l, s, l / v, s / v
	}
}' "$tmp/figures" | tee "$WH_BUILD/bench/copy.txt"
