# SPDX-License-Identifier: Apache-2.0
# Scripts that run inside the VMX host source this file (`. /job.sh`). It has TAP points, steps
# for the progress line, and virtual machines under stock QEMU.

# host_mounts is what the /init of a host does first.
host_mounts() {
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t devtmpfs dev /dev 2>/dev/null
	mkdir -p /dev/shm /dev/pts /tmp /run
	mount -t tmpfs -o size=75% shm /dev/shm
	mount -t tmpfs tmp /tmp
	mount -t devpts pts /dev/pts
	mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
	ip link set lo up 2>/dev/null
}

# step TEXT sets what the progress line says from here on.
step() { echo "@ $*"; }

# ok RC NAME prints one behaviour, like ok() of tap.h.
ok() {
	if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fi
}
diag() { echo "# $*"; }
skip() { echo "ok - $1 # SKIP $2"; }

# tasks prints, as diagnostics, where all tasks wait and what the processors do.
tasks() {
	tasks_mark="tasks at $(cut -d' ' -f1 /proc/uptime)"
	echo "<6>$tasks_mark" >/dev/kmsg
	echo w >/proc/sysrq-trigger		# blocked tasks
	echo l >/proc/sysrq-trigger		# active processors
	dmesg | sed "1,/$tasks_mark/d; s/^/# kernel| /"
	for tasks_t in /proc/[0-9]*/task/*; do
		tasks_line=$(tr '\0' ' ' <"${tasks_t%/task/*}/cmdline")
		[ -n "$tasks_line" ] || continue		# a kernel thread
		echo "# task| ${tasks_t#/proc/} $tasks_line" "$(sed -n 's/^State:[[:space:]]*//p' "$tasks_t/status")"
		sed 's/^/# task|     /' "$tasks_t/stack"
	done 2>/dev/null
}

# tap NAME COMMAND... runs a program that prints TAP of its own. A program that does not end
# within TAP_TIMEOUT seconds fails, and is killed with all that it started.
tap() {
	tap_name=$1
	tap_limit=${TAP_TIMEOUT:-120}
	shift
	echo "@begin $tap_name"
	setsid "$@" &
	tap_pid=$!
	(
		trap 'kill $tap_sleep; exit' TERM
		sleep "$tap_limit" &
		tap_sleep=$!
		wait $tap_sleep
		trap '' TERM
		echo "not ok - ends_within_${tap_limit}_s"
		tasks
		kill -9 -$tap_pid
	) &
	tap_watch=$!
	wait $tap_pid
	tap_rc=$?
	kill $tap_watch 2>/dev/null
	wait $tap_watch
	echo "@end $tap_name $tap_rc"
}

# dump PREFIX FILE [LINES] prints the end of a log as diagnostics.
dump() { tail -n "${3:-40}" "$2" | tr -d '\r' | sed "s/^/# $1| /"; }

# wait_for SECONDS FILE PATTERN waits until a line of a growing file matches.
wait_for() {
	wait_left=$(($1 * 5))
	until grep -q -e "$3" "$2" 2>/dev/null; do
		wait_left=$((wait_left - 1))
		[ $wait_left -gt 0 ] || return 1
		usleep 200000
	done
}
