# SPDX-License-Identifier: Apache-2.0
# A TAP writer for shell tests, which source it: first `plan N`, then one is(), ok() or point() for
# each behaviour, and `finish` as the last command.

[ -z "${WH_TOP:-}" ] || . "$WH_TOP/tests/stand_ins.sh"
tap_run=0
tap_failed=0

plan() {
	tap_planned=$1
	echo "TAP version 13"
	echo "1..$1"
}

diag() { echo "$*" | sed 's/^/# /'; }

# tap_point STATUS NAME prints a point and returns the status.
tap_point() {
	tap_run=$((tap_run + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_run - $2"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_run - $2"
	fi
	return "$1"
}

# point NAME passes if the command before it has succeeded. It returns that status, so what stands
# behind `||' can say more of a failure. No command may stand in NAME.
point() { tap_point $? "$1"; }

# ok NAME COMMAND... passes if the command succeeds, and shows the command's output if it fails.
ok() {
	tap_name=$1 tap_status=0
	shift
	tap_out=$("$@" 2>&1) || tap_status=$?
	tap_point $tap_status "$tap_name" || { diag "failed ($tap_status): $*"; diag "$tap_out"; }
}

# is NAME GOT EXPECTED passes if both texts are equal.
is() {
	tap_status=0
	[ "$2" = "$3" ] || tap_status=1
	tap_point $tap_status "$1" || { diag "expected: $3"; diag "got:      $2"; }
}

# like NAME TEXT PATTERN passes if a line of the text matches the pattern, a basic regular
# expression.
like() {
	tap_status=0
	printf '%s\n' "$2" | grep -q -e "$3" || tap_status=1
	tap_point $tap_status "$1" || { diag "no match of: $3"; diag "in: $2"; }
}

# await COMMAND... runs a command until it succeeds, $await_limit seconds at most: a limit for what
# never comes, and none for what is slow on a busy machine.
await_limit=60
await() {
	await_end=$(($(date +%s) + await_limit))
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt $await_end ] || return 1
		sleep 0.05
	done
}

# tries N COMMAND... runs a command until it succeeds, N times at most: for a measurement that a busy
# machine may spoil.
tries() {
	tries_left=$1
	shift
	until "$@"; do
		tries_left=$((tries_left - 1))
		[ $tries_left -gt 0 ] || return 1
	done
}

skip() {
	tap_run=$((tap_run + 1))
	echo "ok $tap_run - $1 # SKIP $2"
}

# skip_all REASON takes the place of a plan: no point of this test runs here.
skip_all() {
	printf 'TAP version 13\n1..0 # SKIP %s\n' "$*"
	exit 0
}

# need FILE... skips the test if a file of build/ is not there. Guest kernels take minutes to
# build, so only `make images` (or the target in need_target) builds them.
need_target=images
need() {
	for need_file; do
		[ -e "$WH_BUILD/$need_file" ] ||
			skip_all "no guest images (build/$need_file): make $need_target"
	done
}

# need_built FILE... skips the test if a file is not there. Such files are built only where nvcc
# and the headers of the libraries are.
need_built() {
	for need_file; do
		[ -e "$need_file" ] ||
			skip_all "$(basename "$need_file") is not built: no nvcc, or no header of its libraries"
	done
}

# take_over FILE N M shows the N points of another program, read from FILE, as the first of M
# points; this test adds the other M - N.
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
