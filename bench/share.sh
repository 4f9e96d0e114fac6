#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What tenants get of a device under a temporal (or spatial) share, against what
# the same program gets without one, over shm. Needs a GPU and `make all`.
#
#	bench/share.sh one KIND...	each kind of kernels at 10, 25, 50, 75 and 90 %
#	bench/share.sh two		pairs of tenants at the same time
#	bench/share.sh spatial		2 ms kernels on a part of the SMs
#
# A line each: policy, kind, limit, measured share (percent), for pairs two of each.
# The share is work done in the time, against the work done without a limit: what
# a program notices. What the device worked for it is in `wormhole stat`.
# WH_BACKEND: another driver library. SECONDS_EACH: of each measurement; kernels of
# 50 ms get three times as long, since at 10 % there are two of them in a second.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
wormhole=$top/build/host/wormhole
program=$top/build/tests/limits/bin/gpu_share
dir=$(mktemp -d)
seconds=${SECONDS_EACH:-3}

finish() {
	[ ! -s "$dir/s/server.lock" ] || kill "$(cat "$dir/s/server.lock")" 2>/dev/null || :
	rm -rf "$dir"
}
trap finish EXIT

"$wormhole" serve --dir="$dir/s" ${WH_BACKEND:+--backend="$WH_BACKEND"} --daemon >"$dir/log" 2>&1 ||
	{ cat "$dir/log"; exit 1; }
per_us=$("$wormhole" run --dir="$dir/s" -- "$program" calibrate)

# run KIND OPTION...: the rate
run() {
	kind=$1 long=$seconds
	shift
	[ "$kind" != 50ms ] || long=$((seconds * 3))
	"$wormhole" run --dir="$dir/s" "$@" -- "$program" "$kind" "$long" "$per_us" |
		sed -n 's/^launches //p'
}

# Without a share, once for each kind.
all() {
	[ -s "$dir/all.$1" ] || run "$1" >"$dir/all.$1"
	cat "$dir/all.$1"
}

# A tenant ends with its program, but its worker a little later: until then it has its SMs.
alone() {
	for _ in $(seq 100); do
		[ "$("$wormhole" tenant list --json --dir="$dir/s" | grep -o '"ephemeral":[[:space:]]*true' | wc -l)" != 0 ] ||
			return 0
		sleep 0.1
	done
	echo "error: a tenant whose program has ended is still there" >&2
	exit 1
}

percent() { awk -v a="$1" -v b="$2" 'BEGIN { printf("%.2f", b ? a / b * 100 : 0) }'; }

one() {
	for kind in "$@"; do
		base=$(all "$kind")
		for limit in 10 25 50 75 90; do
			rate=$(run "$kind" --sm="$limit")
			echo "temporal $kind $limit $(percent "$rate" "$base")"
		done
	done
}

pair() { # KIND LIMIT KIND LIMIT
	a=$(all "$1")
	b=$(all "$3")
	run "$1" --sm="$2" >"$dir/first" &
	run "$3" --sm="$4" >"$dir/second"
	wait
	echo "temporal $1 $2 $(percent "$(cat "$dir/first")" "$a") $3 $4 $(percent "$(cat "$dir/second")" "$b")"
}

two() {
	pair 100us 50 100us 50
	pair 100us 25 100us 75
	pair 3us 30 50ms 30
	pair 2ms 10 100us 90
	pair mixed 40 mixed 50
	pair graph 25 3us 50
}

spatial() {
	base=$(all 2ms)
	for limit in 10 25 50 75 90; do
		alone
		rate=$(run 2ms --sm="$limit" --sm-policy=spatial)
		echo "spatial 2ms $limit $(percent "$rate" "$base")"
	done
	alone
	rate=$(run 2ms --sm=50 --sm-policy=both)
	echo "both 2ms 50 $(percent "$rate" "$base")"
}

case ${1:-} in
one) shift; one "$@" ;;
two) two ;;
spatial) spatial ;;
*) sed -n '3,12s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
