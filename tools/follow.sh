# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
# Shows the progress of a long step, for scripts that read this file with `.`.

# follow PID SECONDS REPORT [WORD...]: until that child process of the caller ends, runs
# REPORT every so many seconds, with the words and the seconds so far. Returns the status of
# the process. The caller starts the step itself: behind || or `if' the shell does not end a
# function at a failing command, not even in the background.
follow() {
	follow_pid=$1 follow_every=$2 follow_next=$2
	follow_start=$(date +%s)
	shift 2
	while kill -0 "$follow_pid" 2>/dev/null; do
		sleep 0.2
		follow_now=$(($(date +%s) - follow_start))
		[ $follow_now -ge $follow_next ] || continue
		follow_next=$((follow_now + follow_every))
		"$@" $follow_now
	done
	wait "$follow_pid"
}
