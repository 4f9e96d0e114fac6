#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# user.sh SECONDS [SEED] runs the server of programs for a long time. It makes rounds of all fuzz
# targets, random requests, the tests of attacks and tenants, kill -9 at random points, and calls
# that fail, until SECONDS are over in all. What was done and found stands in build/soak/user/. If
# it is stopped at any time, it goes on with the next part and the seconds that are left; without
# that folder it begins anew. It ends with a table, also in build/soak/user/table.md. If anything
# was found, the exit status is not 0, and build/soak/user/finds/PART.ROUND/ has the seed, the
# output, and the input. With WH_SOAK_HALF=NAME all of that is in build/soak/NAME/; WH_SOAK_PARTS
# names the only parts to run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
WH_TOP=$(cd "$here/../.." && pwd)
WH_BUILD=${WH_BUILD:-$WH_TOP/build}
export WH_TOP WH_BUILD
. "$WH_TOP/tests/reach.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
. "$WH_TOP/tools/follow.sh"

seconds=${1:?usage: user.sh SECONDS [SEED]}
out=$WH_BUILD/soak/${WH_SOAK_HALF:-user}
done=$out/done			# a line for each part that has ended: PART ROUND CASES SECONDS FINDS
FUZZ="requests libraries ring control usage fatbin ptx"
PARTS=${WH_SOAK_PARTS:-$FUZZ protocol memory attack tenant kills faults}
# Each target runs so long in a round: all eight together take two thirds of the time, ten minutes
# each at most.
most=$((seconds / 12))
FUZZ_SECONDS=${WH_SOAK_FUZZ:-$([ $most -lt 600 ] && echo $most || echo 600)}
PROGRAMS_SECONDS=120
POINTS=100
TICK=10

mkdir -p "$out/corpus" "$out/finds"
touch "$done"
# A run that goes on has the seed that it began with.
[ -s "$out/seed" ] || echo "${2:-$(date +%s)}" >"$out/seed"
seed=$(cat "$out/seed")
child=

spent() { awk '{ s += $4 } END { print s + 0 }' "$done"; }
left() { echo $((seconds - $(spent))); }
less() { [ "$1" -lt "$2" ] && echo "$1" || echo "$2"; }

# tests_of FOLDER runs the tests of one folder of build/tests, one after the other.
tests_of() {
	for t in "$WH_BUILD/tests/$1"/*.t; do
		case $t in */fuzz_protocol.t) continue ;; esac
		echo "== $t"
		timeout -k 10 300 "$t" </dev/null || echo "not ok - ${t##*/} ended with $?"
	done
}

# run_part runs a part. Its output goes to a file; only for the fuzz targets and kills does its
# status say that something was found.
run_part() { # PART ROUND
	case $1 in
	protocol) "$WH_BUILD/tests/attack/fuzz_protocol.t" "$(less "$FUZZ_SECONDS" "$(left)")" "$((seed + $2 * 1000000))" ;;
	memory) "$WH_BUILD/tests/limits/random_memory_test.t" "$((seed + $2 * 1000))" 100000 2>/dev/null ;;
	programs) "$WH_BUILD/tests/limits/random_tenant_test.t" "$(less $PROGRAMS_SECONDS "$(left)")" "$((seed + $2 * 1000))" ;;
	attack | tenant) tests_of "$1" ;;
	kills) "$WH_TOP/tests/tenant/kills.py" $POINTS "$((seed + $2))" ;;
	faults) "$WH_TOP/tests/tenant/faults.py" all "$((seed + $2))" ;;
	*) "$WH_BUILD/tests/fuzz/run.sh" "$1" "$(less "$FUZZ_SECONDS" "$(left)")" "$out/corpus/$1" "$(((seed + $2) % 4294967295))" ;;
	esac
}

# cases_of prints how many cases were tried, as the output says.
cases_of() { # PART FILE
	case $1 in
	protocol) sed -n 's/.*; \([0-9]*\) requests, .*/\1/p' "$2" ;;
	attack | tenant) grep -c '^ok\|^not ok' "$2" ;;
	memory | programs) sed -n 's/^# \([0-9]*\) calls succeeded.*/\1/p' "$2" ;;
	kills) sed -n 's/^\([0-9]*\) points: .*/\1/p' "$2" ;;
	faults) sed -n 's/^\([0-9]*\) faults: .*/\1/p' "$2" ;;
	*) sed -n 's/^[a-z]*: \([0-9]*\) runs, .*/\1/p' "$2" ;;
	esac | tail -n 1
}

# finds_of prints the number of finds, 0 or more.
finds_of() { # PART FILE STATUS
	n=$(grep -c '^not ok\|^find:\|^Bail out' "$2")
	[ "$n" != 0 ] || [ "$3" = 0 ] || n=1
	echo "$n"
}

keep() { # PART ROUND FILE
	place=$out/finds/$1.$2
	mkdir -p "$place"
	cp "$3" "$place/said"
	echo "seed $seed, round $2" >"$place/seed"
	for f in "$out/corpus/$1"/find-*; do
		[ ! -e "$f" ] || mv "$f" "$place/"
	done
	echo "$(date +%T) FIND in $1, round $2: $place"
}

so_far() { # PART ROUND LOG SECONDS
	echo "$(date +%T) round $2, $1: $4 s, $(left) s before it; $(tail -n 1 "$3" | cut -c1-100)"
}

# one_part runs a part in a process group of its own, so that it can be ended whole, and prints a
# line every TICK seconds.
one_part() { # PART ROUND
	log=$out/said.$1
	began=$(date +%s)
	setsid "$here/user.sh" "$seconds" --part "$1" "$2" >"$log" 2>&1 &
	child=$!
	follow "$child" $TICK so_far "$1" "$2" "$log"
	rc=$?
	child=
	cases=$(cases_of "$1" "$log")
	finds=$(finds_of "$1" "$log" $rc)
	[ "$finds" = 0 ] || keep "$1" "$2" "$log"
	echo "$1 $2 ${cases:-0} $(($(date +%s) - began)) $finds" >>"$done"
}

next_part() { # behind the last part that has ended: PART ROUND
	tail -n 1 "$done" | awk -v parts="$PARTS" '
		{ last = $1; round = $2 }
		END {
			n = split(parts, p, " ")
			for (i = 1; i <= n && p[i] != last; i++)
				;
			i = last == "" || i >= n ? 1 : i + 1
			print p[i], last == "" ? 1 : round + (i == 1)
		}'
}

table() {
	awk -v parts="$PARTS" '
		{ rounds[$1]++; cases[$1] += $3; seconds[$1] += $4; finds[$1] += $5 }
		END {
			print "| part | rounds | cases | seconds | finds |"
			print "|---|---|---|---|---|"
			n = split(parts " all", p, " ")
			for (i = 1; i < n; i++) {
				printf "| %s | %d | %d | %d | %d |\n", p[i], rounds[p[i]], cases[p[i]], seconds[p[i]], finds[p[i]]
				s += seconds[p[i]]
				f += finds[p[i]]
			}
			printf "| all | | | %d | %d |\n", s, f
		}' "$done" >"$out/table.md"
}

# The script calls itself with --part: it then runs one part, and nothing else.
if [ "${2:-}" = --part ]; then
	run_part "$3" "$4"
	exit
fi

# The part that is stopped counts as not done.
stop() {
	[ -z "$child" ] || kill -TERM -- "-$child" 2>/dev/null
	exit 130
}
trap stop INT TERM HUP

while [ "$(left)" -gt 0 ]; do
	# shellcheck disable=SC2046
	one_part $(next_part)
	table
done
table
cat "$out/table.md"
[ "$(awk '{ f += $5 } END { print f + 0 }' "$done")" = 0 ]
