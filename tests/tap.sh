# SPDX-License-Identifier: Apache-2.0
# TAP writer for shell tests, read with `.`: plan N first, then one is() or
# ok() per behaviour; `finish` is the last command.
# Tests with points of their own (`ok STATUS NAME`) read it for what is skipped.

[ -z "${WH_TOP:-}" ] || . "$WH_TOP/tests/stand_ins.sh"
tap_run=0
tap_failed=0

plan() {
	tap_planned=$1
	echo "TAP version 13"
	echo "1..$1"
}

diag() { echo "$*" | sed 's/^/# /'; }

# ok NAME COMMAND...: the command must succeed; its output shows when it fails.
ok() {
	tap_name=$1
	shift
	tap_run=$((tap_run + 1))
	if tap_out=$("$@" 2>&1); then
		echo "ok $tap_run - $tap_name"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_run - $tap_name"
		diag "failed ($?): $*"
		diag "$tap_out"
	fi
}

# is NAME GOT EXPECTED
is() {
	tap_run=$((tap_run + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $tap_run - $1"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_run - $1"
		diag "expected: $3"
		diag "got:      $2"
	fi
}

# like NAME TEXT PATTERN: a basic regular expression that some line matches.
like() {
	tap_run=$((tap_run + 1))
	if printf '%s\n' "$2" | grep -q -e "$3"; then
		echo "ok $tap_run - $1"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_run - $1"
		diag "no match of: $3"
		diag "in: $2"
	fi
}

skip() {
	tap_run=$((tap_run + 1))
	echo "ok $tap_run - $1 # SKIP $2"
}

# skip_all REASON: instead of a plan; no point of this test runs here.
skip_all() {
	printf 'TAP version 13\n1..0 # SKIP %s\n' "$*"
	exit 0
}

# need FILE...: of build/. Guest kernels take minutes, so they are built by `make images`
# (or another need_target) only.
need_target=images
need() {
	for need_file; do
		[ -e "$WH_BUILD/$need_file" ] ||
			skip_all "no guest images (build/$need_file): make $need_target"
	done
}

# need_built FILE...: what is there only where nvcc and the libraries' headers are.
need_built() {
	for need_file; do
		[ -e "$need_file" ] ||
			skip_all "$(basename "$need_file") is not built: no nvcc, or no header of its libraries"
	done
}

# take_over FILE N M: the N points of another program stand before M - N of this one's.
take_over() {
	sed "s/^1\.\.$2\$/1..$3/" "$1"
	tap_planned=$3
	tap_run=$(grep -c '^ok\|^not ok' "$1")
	tap_failed=$(grep -c '^not ok' "$1")
}

finish() {
	[ "$tap_run" = "$tap_planned" ] || { diag "planned $tap_planned, ran $tap_run"; exit 1; }
	[ "$tap_failed" = 0 ]
	exit
}
