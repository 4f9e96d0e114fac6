# SPDX-License-Identifier: Apache-2.0
# For scripts that run inside the VMX host (`. /job.sh`): TAP points, steps
# for the progress line, and virtual machines under stock QEMU.

# What the progress line says from here on.
step() { echo "@ $*"; }

# One behaviour, like ok() of tap.h: ok RC NAME.
ok() {
	if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fi
}
diag() { echo "# $*"; }
skip() { echo "ok - $1 # SKIP $2"; }

# tap NAME COMMAND...: a program that prints TAP of its own.
tap() {
	tap_name=$1
	shift
	echo "@begin $tap_name"
	timeout "${TAP_TIMEOUT:-120}" "$@"
	echo "@end $tap_name $?"
}

# dump PREFIX FILE: the end of a log, as diagnostics.
dump() { tail -n "${3:-40}" "$2" | tr -d '\r' | sed "s/^/# $1| /"; }

# wait_for SECONDS FILE PATTERN: until a line of a growing file matches.
wait_for() {
	wait_left=$(($1 * 5))
	until grep -q -e "$3" "$2" 2>/dev/null; do
		wait_left=$((wait_left - 1))
		[ $wait_left -gt 0 ] || return 1
		usleep 200000
	done
}
