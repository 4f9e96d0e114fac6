#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The script runs groups of tests by prove(1), each test under a timeout, and ends with one
# summary line, which it also writes to build/tests/summary. A group is a folder of build/tests/,
# `fast` (all but the slow folders), `all` (all but `more`, which repeats and takes long), or
# `all-but-kernel` (see tests/kernel/state.sh). `--one FILE` runs one test.
set -u

WH_TOP=$(cd "$(dirname "$0")/.." && pwd)
WH_BUILD=${WH_BUILD:-$WH_TOP/build}
export WH_TOP WH_BUILD
# In a clone that workers cannot reach, the tests of that say so and skip.
. "$WH_TOP/tests/reach.sh"
# A make that a test calls must not join the make that called this script.
unset MAKEFLAGS MFLAGS MAKELEVEL

# These groups boot Bochs or install packages and are slow; every other folder of build/tests/ is
# fast.
SLOW="kernel bochs more next deb"
FAST_TIMEOUT=${WH_FAST_TIMEOUT:-600}
SLOW_TIMEOUT=${WH_SLOW_TIMEOUT:-1500}

# These groups use a processor all the time, or measure how it is shared: as many at a time as
# there are processors. The tests of others also wait, so that there is one more of them.
BUSY="kernel bochs more next limits"

group_of() { basename "$(dirname "$1")"; }
is_slow() {
	case " $SLOW " in *" $1 "*) return 0 ;; esac
	return 1
}

# one FILE is the command of prove's --exec; the time limit follows from the folder. What it says
# on standard error goes past prove, to descriptor 9. prove would wait for the test's next point
# then, and neither notice that another test has ended nor start the next.
one() {
	[ ! -e /proc/self/fd/9 ] || exec 2>&9 9>&-
	group=$(group_of "$1")
	limit=$FAST_TIMEOUT
	! is_slow "$group" || limit=$SLOW_TIMEOUT
	mkdir -p "$WH_BUILD/tap/$group"
	tap=$WH_BUILD/tap/$group/$(basename "$1")
	rc=$( {
		{ timeout -k 10 "$limit" "$1" </dev/null 3>&- 4>&-; echo $? >&3; } | tee "$tap" >&4
	} 3>&1) 4>&1
	awk -v name="$group/$(basename "$1")" '
		/^(not )?ok/	{ failed = /^not ok/ }
		/^Bail out!/	{ failed = 1 }
		failed		{ print "# " name ": " $0 }' "$tap" >&2
	[ "$rc" != 124 ] || echo "# $(basename "$1"): stopped after $limit s" >&2
	exit "$rc"
}

folders() {
	for d in "$WH_BUILD"/tests/*/; do
		d=$(basename "$d")
		case $1 in
		all) [ "$d" = more ] || echo "$d" ;;
		all-but-kernel) case $d in more | kernel | next) ;; *) echo "$d" ;; esac ;;
		fast) is_slow "$d" || echo "$d" ;;
		"$d") echo "$d" ;;
		esac
	done
}

files() {
	for group in "$@"; do
		for d in $(folders "$group"); do
			find "$WH_BUILD/tests/$d" -maxdepth 1 -name '*.t' -perm -u+x
		done
	done | sort -u
}

[ "${1:-}" != --one ] || one "$2"

if [ $# = 0 ]; then
	echo "usage: $0 GROUP...   (fast, all, or a folder of build/tests/)" >&2
	exit 2
fi
tests=$(files "$@")
if [ -z "$tests" ]; then
	echo "error: no tests in group: $*" >&2
	exit 1
fi

# sorted TEST... puts slow tests first, so that the last minutes are not one boot on one core.
sorted() {
	for t in "$@"; do
		is_slow "$(group_of "$t")" && echo "0 $t" || echo "1 $t"
	done | sort | cut -d' ' -f2
}
busy=
others=
for t in $tests; do
	case " $BUSY " in
	*" $(group_of "$t") "*) busy="$busy $t" ;;
	*) others="$others $t" ;;
	esac
done
jobs=${WH_TEST_JOBS:-$(nproc)}
[ "$jobs" -le 2 ] || [ -n "${WH_TEST_JOBS:-}" ] || jobs=2

mkdir -p "$WH_BUILD/tests"
summary=$WH_BUILD/tests/summary
: >"$summary"
# run JOBS TEST... runs tests, if there are any.
run() {
	run_jobs=$1
	shift
	[ $# != 0 ] || return
	sorted "$@" | prove --merge --timer -j"$run_jobs" --exec "$0 --one" - 9>&1 2>&1
	echo "Status of prove: $?"
}
# prove prints "Files=N, Tests=N, N wallclock secs …" and then "Result: …"; awk adds them up to one
# line at the end. Of prove's times the one that each test took is shown. The exit status of prove
# counts as well, because the result line does not count a test that bails out.
# shellcheck disable=SC2086
{
	run "$jobs" $busy
	run $((jobs + 1)) $others
} |
awk -v out="$summary" '
	/^Files=/	{
		split($0, n, /[^0-9]+/)
		files += n[2]
		tests += n[3]
		secs += n[4]
		next
	}
	/^Result: /	{ if (result !~ /FAIL/) result = $0; next }
	/^Status of prove: / { if ($4 != 0) failed = 1; next }
	/^\[[0-9:]*\]$/	{ next }
			{ gsub("^.*/build/tests/", ""); sub(/ \([^()]* CPU\)$/, ""); print; fflush() }
	END {
		if (failed)
			result = "Result: FAIL"
		if (result)
			printf "%s  Files=%d, Tests=%d, %d wallclock secs\n", result, files, tests, secs > out
	}'
cat "$summary"
grep -q '^Result: PASS ' "$summary"
