#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what tenants get of a device under a temporal (or spatial) share, compared with
# the same program without a share, over shm. Needs a GPU and `make all`.
#
#	bench/share.sh one [KIND...]	kernels of each kind at 10, 25, 50, 75 and 90 %
#	bench/share.sh two		pairs of tenants at the same time
#	bench/share.sh pair KIND PERCENT KIND PERCENT	one such pair
#	bench/share.sh spatial		2 ms kernels on a part of the SMs
#	bench/share.sh unlimited	launches without a share: natively, over shm, with --mem only
#	bench/share.sh all		these four, in about eight minutes
#
# Prints lines as bench/gpu.sh writes them: `one share PERCENT KERNELS PART TIME`, with the
# length of kernels in microseconds and two measures of the part of the device; for pairs
# two lines. PART is the work done in the time, divided by the work done without a limit:
# what a program notices. It needs none of our counters, but if launches take longer than
# their kernels (3 us), it also depends on the CPU's speed at that moment. TIME is the
# device's work for the tenant, as `wormhole stat` counts it, divided by the clock's time.
# `unlimited VARIANT KERNELS RATE RATIO`: medians of many alternating turns, in
# microseconds of work (launches of 3 us: launches) per second, and divided by the
# rate of the program without a limit in the same turn. Lines with # have the rates.
#
# WH_BACKEND: another driver library. SECONDS_EACH: seconds of each measurement, instead
# of what each kind needs. BLOCKS: blocks of each kernel. SHARES: the shares of `one`.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
wormhole=${WH_BUILD:-$top/build}/host/wormhole
program=${WH_BUILD:-$top/build}/tests/limits/bin/gpu_share
blocks=${BLOCKS:-1056}
dir=$(mktemp -d)

stop_server() { [ ! -S "$dir/s/server.sock" ] || "$wormhole" stop --force --dir="$dir/s"; }
finish() {
	stop_server 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT

# Workers and clients get different CPUs: moves between CPUs are the noise in these figures.
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

# With one tenant, server and client get one CPU each; with several, half of all CPUs each.
server() { # one|many
	if [ "$1" = one ]; then
		worker_cpus="2 2" client_cpus="4 4"
	else
		worker_cpus="0 $((cpus / 2 - 1))" client_cpus="$((cpus / 2)) $((cpus - 1))"
	fi
	stop_server
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
	10us) echo 10 ;;
	100us) echo 100 ;;
	2ms) echo 2000 ;;
	50ms) echo 50000 ;;
	mixed) echo 3,100,2000,50000 ;;
	graph) echo 10x100 ;;
	esac
}

# --- A program in a tenant of its own name, which measures on request ------------------

declare -A to=([a]=3 [b]=5 [native]=7) from=([a]=4 [b]=6 [native]=8)

fifos() { # NAME
	rm -f "$dir/to.$1" "$dir/from.$1"
	mkfifo "$dir/to.$1" "$dir/from.$1"
}

connect() { eval "exec ${to[$1]}>'$dir/to.$1' ${from[$1]}<'$dir/from.$1'"; }
disconnect() { eval "exec ${to[$1]}>&- ${from[$1]}<&-"; }

start() { # a|b KIND
	fifos "$1"
	client --tenant="$1" --mem=none "$2" 1 "$per_us" "$blocks" asked <"$dir/to.$1" >"$dir/from.$1" &
	connect "$1"
}

# Changes a tenant's limit. It takes effect at the tenant's next launch; other tenants are
# not affected.
limit() { "$wormhole" limit --dir="$dir/s" "$2" "$1"; }	# a|b OPTION

ask() { echo "$2 $3" >&"${to[$1]}"; }	# a|b|native WARM SECONDS
answer() {
	read -r _ rate <&"${from[$1]}" || { echo "error: no measurement" >&2; exit 1; }
	echo "$rate"
}
measure() { ask "$@"; answer "$1"; }

# --- The device's work for tenants during a measurement -------------------------------

look() { # NAME: the time and the device's, in ns
	echo "$(date +%s%N) $("$wormhole" stat --json --dir="$dir/s" "$1" |
		sed -n 's/.*"gpu_ns":[[:space:]]*\([0-9]*\).*/\1/p' | head -n 1)"
}

# Prints each tenant's part of the time, in the middle of a measurement that has just been
# requested, which has a second for warming up.
time_parts() { # SECONDS NAME...
	middle=$(awk "BEGIN { print 0.8 * $1 }")
	sleep "$(awk "BEGIN { print 1 + 0.1 * $1 }")"
	shift
	before=$(for n; do look "$n"; done)
	sleep "$middle"
	after=$(for n; do look "$n"; done)
	paste -d ' ' <(echo "$before") <(echo "$after") |
		awk '{ printf("%.4f ", ($4 - $2) / ($3 - $1)) } END { print "" }'
}

# A tenant ends with its program, but its worker ends a little later and keeps its SMs until
# then.
alone() {
	for _ in $(seq 100); do
		[ "$("$wormhole" tenant list --json --dir="$dir/s" | grep -o '"ephemeral":[[:space:]]*true' | wc -l)" != 0 ] ||
			return 0
		sleep 0.1
	done
	echo "error: a tenant whose program has ended is still there" >&2
	exit 1
}

median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

# part RATES BASES: prints the quotient of their medians.
part() {
	awk -v r="$(printf '%s\n' $1 | median)" -v b="$(printf '%s\n' $2 | median)" \
		'BEGIN { printf("%.4f\n", b ? r / b : 0) }'
}

# A measurement must be long enough to see a point of a share: at 10 %, kernels of 50 ms run
# twice a second.
seconds() {
	case $1 in
	50ms) echo "${SECONDS_EACH:-6}" ;;
	mixed) echo "${SECONDS_EACH:-4}" ;;
	*) echo "${SECONDS_EACH:-2}" ;;
	esac
}

# The rate of short launches varies by more than the effect that is measured, and sometimes
# by a fifth for a second. So they are measured three times, and without a share before and
# after each.
one() {
	[ $# != 0 ] || set -- 3us 10us 100us 2ms 50ms mixed graph
	server one
	for kind; do
		alone
		start a "$kind"
		times=1
		[ "$kind" != 3us ] || times="1 2 3"
		last=$(measure a 1 1)
		for limit in ${SHARES:-10 25 50 75 90}; do
			bases=$last rates= parts=
			for _ in $times; do
				limit a --sm="$limit"
				ask a 1 "$(seconds "$kind")"
				parts="$parts $(time_parts "$(seconds "$kind")" a)"
				rates="$rates $(answer a)"
				limit a --sm=none
				last=$(measure a 0.1 1)
				bases="$bases $last"
			done
			echo "# $kind $limit:$rates of $bases"
			echo "one share $limit $(kernels "$kind") $(part "$rates" "$bases") $(part "$parts" 1)"
		done
		disconnect a
		wait
	done
}

# Short launches take several turns, for the reason above.
pair() { # KIND LIMIT KIND LIMIT
	times=1 length=${SECONDS_EACH:-4}
	case "$1 $3" in *3us*) times="1 2 3 4 5" length=${SECONDS_EACH:-2} ;; esac
	alone
	start a "$1"
	start b "$3"
	a=$(measure a 1 0.5) b=$(measure b 1 0.5) got_a= got_b= time_a= time_b=
	for _ in $times; do
		limit a --sm="$2"
		limit b --sm="$4"
		ask a 1 "$length"
		ask b 1 "$length"
		read -r t_a t_b < <(time_parts "$length" a b)
		time_a="$time_a $t_a" time_b="$time_b $t_b"
		got_a="$got_a $(answer a)" got_b="$got_b $(answer b)"
		limit a --sm=none
		limit b --sm=none
		a="$a $(measure a 0.1 0.5)" b="$b $(measure b 0.1 0.5)"
	done
	disconnect a
	disconnect b
	wait
	echo "# $1 $2:$got_a of $a; $3 $4:$got_b of $b"
	echo "two share $2 $(kernels "$1") $(part "$got_a" "$a") $(part "$time_a" 1)"
	echo "two share $4 $(kernels "$3") $(part "$got_b" "$b") $(part "$time_b" 1)"
}

two() {
	server many
	pair 100us 50 100us 50
	pair 100us 25 100us 75
	pair 3us 30 50ms 30
	pair 2ms 10 100us 90
	pair mixed 40 mixed 50
	pair graph 25 3us 50
	pair 10us 25 2ms 50
}

# Contexts get their SMs at their start, so each measurement is a program of its own.
spatial() {
	server one
	base=$(run)
	for limit in 10 25 50 75 90; do
		alone
		echo "spatial share $limit 2000 $(part "$(run --sm="$limit" --sm-policy=spatial)" "$base")"
	done
	alone
	echo "both share 50 2000 $(part "$(run --sm=50 --sm-policy=both)" "$base")"
}

run() { # OPTION...: the rate of kernels of 2 ms
	client "$@" 2ms "$(seconds 2ms)" "$per_us" "$blocks" | sed -n 's/^launches //p'
}

# --- Without a share ---------------------------------------------------------------

# Starts the same program on the driver itself.
native() {
	path=${WH_BACKEND:-$(/sbin/ldconfig -p | sed -n 's|.*libcuda\.so\.1 .*=> ||p' | head -n 1)}
	[ -e "$path" ] || path=/usr/local/nvidia/lib64/libcuda.so.1
	fifos native
	on $worker_cpus env LD_LIBRARY_PATH="$(dirname "$path")" "$program" "$1" 1 "$per_us" \
		"$blocks" asked <"$dir/to.native" >"$dir/from.native" &
	connect native
}

# Prints one line: native, without a limit, with a memory limit; each is measured twice, in
# both orders.
turn() {
	n=$(measure native 0.1 0.4)
	limit a --mem=none
	u=$(measure a 0.1 0.4)
	limit a --mem=20G
	m="$(measure a 0.1 0.4) $(measure a 0.1 0.4)"
	limit a --mem=none
	u="$u $(measure a 0.1 0.4)"
	n="$n $(measure native 0.1 0.4)"
	echo "$n $u $m" | awk '{ print $1 + $2, $3 + $4, $5 + $6 }'
}

# The tenant with and without a memory limit is the same process: its limit changes.
unlimited() {
	server one
	for kind in 3us 100us; do
		rm -f "$dir/turns"
		# The place of memory, which differs by chance, changes the rate of short
		# launches.
		for _ in 1 $([ "$kind" != 3us ] || echo 2 3); do
			alone
			native "$kind"
			start a "$kind"
			for _ in $(seq "${TURNS:-4}"); do turn >>"$dir/turns"; done
			disconnect native
			disconnect a
			wait
		done
		i=0
		for v in native none mem; do
			i=$((i + 1))
			echo "unlimited $v $(kernels "$kind") $(awk "{ print \$$i / 2 }" "$dir/turns" | median)" \
				"$(awk "{ print \$$i / \$2 }" "$dir/turns" | median)"
		done
	done
}

case ${1:-} in
one) shift; one "$@" ;;
two | spatial | unlimited) "$1" ;;
pair) shift; server many; pair "$@" ;;
all) one; two; spatial; unlimited ;;
*) sed -n '3,24s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
