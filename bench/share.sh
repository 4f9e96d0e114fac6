#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What tenants get of a device under a temporal (or spatial) share, against what
# the same program gets without one, over shm. Needs a GPU and `make all`.
#
#	bench/share.sh one [KIND...]	kernels of each kind at 10, 25, 50, 75 and 90 %
#	bench/share.sh two		pairs of tenants at the same time
#	bench/share.sh pair KIND PERCENT KIND PERCENT	one such pair
#	bench/share.sh spatial		2 ms kernels on a part of the SMs
#	bench/share.sh unlimited	launches without a share: natively, over shm, with --mem only
#	bench/share.sh all		these four, in less than five minutes
#
# Lines as bench/gpu.sh writes them: `one share PERCENT KERNELS PART`, the length of
# kernels in microseconds and the measured part of the device; for pairs two lines.
# The part is work done in the time, against the work done without a limit: what
# a program notices. What the device worked for it is in `wormhole stat`.
# `unlimited VARIANT KERNELS RATE`: the median of many turns in alternation, in
# microseconds of work (launches of 3 us: launches) for each second.
#
# WH_BACKEND: another driver library. SECONDS_EACH: of each measurement, in place of
# what each kind needs. BLOCKS: of each kernel. SHARES: of `one`.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
wormhole=${WH_BUILD:-$top/build}/host/wormhole
program=${WH_BUILD:-$top/build}/tests/limits/bin/gpu_share
blocks=${BLOCKS:-1056}
dir=$(mktemp -d)

finish() {
	[ ! -s "$dir/s/server.lock" ] || kill "$(cat "$dir/s/server.lock")" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT

# Workers on some CPUs, clients on others: moves between CPUs are the noise here.
cpus=$(nproc)
on() { # FIRST LAST COMMAND...
	if [ "$cpus" -lt 8 ] || ! command -v taskset >/dev/null; then
		shift 2
		"$@"
	else
		cpu_list=$1-$2
		shift 2
		taskset -c "$cpu_list" "$@"
	fi
}

# Each of the two sides of one tenant gets one CPU, of several a half of all.
server() { # one|many
	if [ "$1" = one ]; then
		worker_cpus="2 2" client_cpus="4 4"
	else
		worker_cpus="0 $((cpus / 2 - 1))" client_cpus="$((cpus / 2)) $((cpus - 1))"
	fi
	[ ! -s "$dir/s/server.lock" ] || kill "$(cat "$dir/s/server.lock")"
	while [ -S "$dir/s/server.sock" ]; do sleep 0.05; done
	on $worker_cpus "$wormhole" serve --dir="$dir/s" ${WH_BACKEND:+--backend="$WH_BACKEND"} \
		--daemon >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
	[ -n "${per_us:-}" ] || per_us=$(client calibrate)
}

client() { # [OPTION...] [--] ARGUMENT... of the program
	options=()
	while [ "${1#--}" != "$1" ]; do options+=("$1"); shift; done
	on $client_cpus "$wormhole" run --dir="$dir/s" "${options[@]}" -- "$program" "$@"
}

kernels() {
	case $1 in
	3us) echo 3 ;;
	100us) echo 100 ;;
	2ms) echo 2000 ;;
	50ms) echo 50000 ;;
	mixed) echo 3,100,2000,50000 ;;
	graph) echo 10x100 ;;
	esac
}

# What it takes to see a point of a share: at 10 % kernels of 50 ms come twice a second.
seconds() {
	case $1 in
	50ms) echo "${SECONDS_EACH:-8}" ;;
	mixed) echo "${SECONDS_EACH:-4}" ;;
	*) echo "${SECONDS_EACH:-2}" ;;
	esac
}

# run KIND SECONDS OPTION...: the rate
run() {
	kind=$1 long=$2
	shift 2
	client "$@" "$kind" "$long" "$per_us" "$blocks" | sed -n 's/^launches //p'
}

# Without a share, once for each kind.
all_of() {
	[ -s "$dir/all.$1" ] || run "$1" 2 >"$dir/all.$1"
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

# RATE BASE [BASE]
part() { awk -v a="$1" -v b="$2" -v c="${3:-$2}" 'BEGIN { printf("%.4f", b + c ? a / (b + c) * 2 : 0) }'; }

# The rate of short launches differs by some percent from time to time, so they are
# compared with the rates without a share just before and just after.
one() {
	[ $# != 0 ] || set -- 3us 100us 2ms 50ms mixed graph
	server one
	for kind; do
		before=$(all_of "$kind")
		for limit in ${SHARES:-10 25 50 75 90}; do
			rate=$(run "$kind" "$(seconds "$kind")" --sm="$limit")
			after=$before
			[ "$kind" != 3us ] || after=$(run "$kind" 2)
			echo "one share $limit $(kernels "$kind") $(part "$rate" "$before" "$after")"
			before=$after
		done
	done
}

pair() { # KIND LIMIT KIND LIMIT
	a=$(all_of "$1")
	b=$(all_of "$3")
	run "$1" 5 --sm="$2" >"$dir/first" &
	run "$3" 5 --sm="$4" >"$dir/second"
	wait
	echo "two share $2 $(kernels "$1") $(part "$(cat "$dir/first")" "$a")"
	echo "two share $4 $(kernels "$3") $(part "$(cat "$dir/second")" "$b")"
}

two() {
	server many
	rm -f "$dir"/all.3us	# other CPUs
	pair 100us 50 100us 50
	pair 100us 25 100us 75
	pair 3us 30 50ms 30
	pair 2ms 10 100us 90
	pair mixed 40 mixed 50
	pair graph 25 3us 50
}

spatial() {
	server one
	base=$(all_of 2ms)
	for limit in 10 25 50 75 90; do
		alone
		rate=$(run 2ms "$(seconds 2ms)" --sm="$limit" --sm-policy=spatial)
		echo "spatial share $limit 2000 $(part "$rate" "$base")"
	done
	alone
	rate=$(run 2ms "$(seconds 2ms)" --sm=50 --sm-policy=both)
	echo "both share 50 2000 $(part "$rate" "$base")"
}

# --- Without a share ---------------------------------------------------------------

# The driver natively, for the same program.
native() {
	path=${WH_BACKEND:-$(/sbin/ldconfig -p | sed -n 's|.*libcuda\.so\.1 .*=> ||p' | head -n 1)}
	[ -e "$path" ] || path=/usr/local/nvidia/lib64/libcuda.so.1
	on $worker_cpus env LD_LIBRARY_PATH="$(dirname "$path")" "$program" "$@"
}

# Programs that measure when they are asked to, and wait meanwhile.
ask() { # FD-TO FD-FROM
	echo >&"$1"
	read -r _ rate <&"$2"
	echo "$rate"
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# The tenant with a memory limit and without one is the same process: its limit changes.
turns() { # KIND
	native "$1" 0.4 "$per_us" "$blocks" asked <"$dir/to.native" >"$dir/from.native" &
	client --tenant=unlimited --mem=20G "$1" 0.4 "$per_us" "$blocks" asked \
		<"$dir/to.tenant" >"$dir/from.tenant" &
	exec 3>"$dir/to.native" 4<"$dir/from.native" 5>"$dir/to.tenant" 6<"$dir/from.tenant"
	for _ in $(seq "${TURNS:-8}"); do
		ask 3 4 >>"$dir/native"
		"$wormhole" limit --dir="$dir/s" --mem=none unlimited
		ask 5 6 >>"$dir/none"
		"$wormhole" limit --dir="$dir/s" --mem=20G unlimited
		ask 5 6 >>"$dir/mem"
	done
	exec 3>&- 4<&- 5>&- 6<&-
	wait
}

unlimited() {
	server one
	mkfifo "$dir/to.native" "$dir/from.native" "$dir/to.tenant" "$dir/from.tenant"
	for kind in 3us 100us; do
		rm -f "$dir/native" "$dir/none" "$dir/mem"
		# Where memory happens to lie changes the rate of short launches.
		for _ in 1 $([ "$kind" != 3us ] || echo 2 3); do
			alone
			turns "$kind"
		done
		for v in native none mem; do
			echo "unlimited $v $(kernels "$kind") $(median "$dir/$v")"
		done
	done
}

case ${1:-} in
one) shift; one "$@" ;;
two | spatial | unlimited) "$1" ;;
pair) shift; server many; pair "$@" ;;
all) one; two; spatial; unlimited ;;
*) sed -n '3,23s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
