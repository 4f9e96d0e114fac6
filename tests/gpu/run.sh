#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs all tests that need a real GPU: by `make test-gpu`, or this script alone beside a build/
# folder that was made elsewhere (WH_BUILD names another one). It runs the tests/gpu/*_test.sh and
# the programs build/tests/gpu/*.t one after the other, each under a time limit, and sums their
# TAP up. It needs bash, python3 and, for the device, NVIDIA's driver; it builds nothing. Without
# a GPU each test says that it skipped, and why.
#
# 	tests/gpu/run.sh [WORD...]	only tests with a WORD in their names
set -u
WH_TOP=$(cd "$(dirname "$0")/../.." && pwd)
WH_BUILD=${WH_BUILD:-$WH_TOP/build}
export WH_TOP WH_BUILD
limit=${WH_GPU_TIMEOUT:-600}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

wanted() { # NAME
	[ ${#words[@]} = 0 ] && return 0
	for w in "${words[@]}"; do case $1 in *"$w"*) return 0 ;; esac; done
	return 1
}

# judge FILE STATUS prints the verdict on one TAP output with its exit status: "PASS|FAIL ok
# failed skipped".
judge() { # FILE STATUS
	awk -v status="$2" '
		/^1\.\.[0-9]+/		{ split($1, p, "[.][.]"); plan = p[2]; planned = 1; if (/# SKIP/) all = 1 }
		/^ok .*# SKIP/		{ ran++; skipped++; next }
		/^ok /			{ ran++; good++ }
		/^not ok /		{ ran++; bad++ }
		/^Bail out!/		{ bailed = 1 }
		END {
			fail = bad || bailed || !planned || plan != ran || status
			print fail ? "FAIL" : all || (ran && skipped == ran) ? "SKIP" : "PASS",
			      good + 0, bad + 0, skipped + 0
		}' "$1"
}

words=("$@")
pass=0 failed=0 skipped=0 files=0 broken=
shopt -s nullglob
for t in "$WH_TOP"/tests/gpu/*_test.sh "$WH_BUILD"/tests/gpu/*.t; do
	name=$(basename "$t")
	wanted "$name" || continue
	files=$((files + 1))
	start=$SECONDS
	timeout -k 10 "$limit" "$t" </dev/null >"$out/tap" 2>"$out/err"
	rc=$?
	read -r verdict good bad skip < <(judge "$out/tap" $rc)
	pass=$((pass + good)) failed=$((failed + bad)) skipped=$((skipped + skip))
	echo "$verdict $name: $good ok, $bad not ok, $skip skipped, $((SECONDS - start)) s"
	case $verdict in
	PASS) grep '# SKIP' "$out/tap" | sed 's/^/    /' ;;
	SKIP) grep -m 1 '# SKIP' "$out/tap" | sed 's/^/    /' ;;
	FAIL)
		broken="$broken $name"
		[ $rc = 0 ] || echo "    exit status $rc"
		grep -A 12 -E '^(not ok|Bail out!)' "$out/tap" | head -n 60 | sed 's/^/    /'
		tail -n 5 "$out/err" | sed 's/^/    /'
		;;
	esac
	[ -z "${WH_GPU_KEEP:-}" ] || cp "$out/tap" "$WH_GPU_KEEP/$name.tap"
done

if [ $files = 0 ]; then
	echo "error: no such GPU tests: $*" >&2
	exit 1
fi
[ -z "$broken" ] && result=PASS || result=FAIL
echo "Result: $result  Files=$files, ok=$pass, not ok=$failed, skipped=$skipped"
[ -z "$broken" ]
