#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The script runs groups of tests by prove(1), each test under a timeout, and ends with one
# summary line, which it also writes to build/tests/summary. A group is a folder of build/tests/,
# or `fast` (all but the slow folders), or `all`. `--one FILE` runs one test.
set -u

WH_TOP=$(cd "$(dirname "$0")/.." && pwd)
WH_BUILD=${WH_BUILD:-$WH_TOP/build}
export WH_TOP WH_BUILD
# The workers of root's server run as other users, who must be able to reach what is built. Where
# they cannot (a clone in /root), the tests of that say so and skip, and all other tests have
# workers that run as root.
[ "$(id -u)" != 0 ] || setpriv --reuid 65534 --clear-groups test -r "$WH_BUILD/tests" ||
	export WORMHOLE_WORKER_UID=none
# A make that a test calls must not join the make that called this script.
unset MAKEFLAGS MFLAGS MAKELEVEL

# These groups boot Bochs or install packages and are slow; every other folder of build/tests/ is
# fast.
SLOW="kernel bochs next deb"
FAST_TIMEOUT=${WH_FAST_TIMEOUT:-300}
SLOW_TIMEOUT=${WH_SLOW_TIMEOUT:-1500}

is_slow() {
	case " $SLOW " in *" $1 "*) return 0 ;; esac
	return 1
}

# one FILE is the command of prove's --exec; the time limit follows from the folder. What it says
# on standard error goes past prove, to descriptor 9. prove would wait for the test's next point
# then, and neither notice that another test has ended nor start the next.
one() {
	[ ! -e /proc/self/fd/9 ] || exec 2>&9 9>&-
	group=$(basename "$(dirname "$1")")
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
		all) echo "$d" ;;
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

# Slow tests run first, so that the last minutes are not one boot on one core.
list=$(for t in $tests; do
	is_slow "$(basename "$(dirname "$t")")" && echo "0 $t" || echo "1 $t"
done | sort | cut -d' ' -f2)
jobs=${WH_TEST_JOBS:-$(nproc)}
[ "$jobs" -le 2 ] || [ -n "${WH_TEST_JOBS:-}" ] || jobs=2

mkdir -p "$WH_BUILD/tests"
summary=$WH_BUILD/tests/summary
: >"$summary"
# prove prints "Files=…" and then "Result: …"; awk joins them to one line at the end. Of prove's
# times the one that each test took is shown. The exit status of prove counts as well, because the
# result line does not count a test that bails out.
# shellcheck disable=SC2086
{
	printf '%s\n' $list | prove --merge --timer -j"$jobs" --exec "$0 --one" - 9>&1 2>&1
	echo "Status of prove: $?"
} |
awk -v out="$summary" '
	/^Files=/	{ files = $0; next }
	/^Result: /	{ result = $0; next }
	/^Status of prove: / { if ($4 != 0) failed = 1; next }
	/^\[[0-9:]*\]$/	{ next }
			{ gsub("^.*/build/tests/", ""); sub(/ \([^()]* CPU\)$/, ""); print; fflush() }
	END {
		if (failed)
			result = "Result: FAIL"
		if (result)
			print result "  " files > out
	}'
cat "$summary"
grep -q '^Result: PASS ' "$summary"
