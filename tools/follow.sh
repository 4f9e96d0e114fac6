# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
# Progress of a step that takes long, for scripts that read this with `.`.

# follow PID SECONDS REPORT [WORD...]: until that process of the caller's ends, every so
# many seconds REPORT with the words and the seconds so far. Its status is the process's.
# The caller starts the step itself: behind || or `if' the shell takes no command's failure
# for a function's end, not even in the background.
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
