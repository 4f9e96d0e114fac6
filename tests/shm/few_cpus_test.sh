#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that calls over shm go on at the rate of the machine where program and server
# have one CPU, that a call takes no more than two changes of threads on one CPU and on two, and that
# without calls nobody takes CPU time. The rate is compared with that of two processes which wake each
# other in the same turns. What it is, with one CPU and with two, is shown: it goes by what else runs.
. "$(dirname "$0")/lib.sh"

# measure CPUS runs server and program there, and sets what tests/shm/placed.c says. The CPUs are
# this shell's, too.
measure() {
	taskset -cp "$1" $$ >/dev/null || return 1
	calls= ratio= switches= idle_us= idle_switches=
	start_server && said=$("$bin/placed" "$server")
	rc=$?
	stop_server
	echo "# CPUs $1: $said; the goals are 150000 calls on one CPU and 2500000 on two"
	[ $rc = 0 ] && eval "$said"
}
# at_most VALUE BOUND and at_least are false if there is no value.
at_most() { [ -n "$1" ] && [ "$1" -le "$2" ]; }
at_least() { [ -n "$1" ] && [ "$1" -ge "$2" ]; }

cpus=$(/usr/bin/python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
# shellcheck disable=SC2086
set -- $cpus
plan 7

measure "$1"
at_least "$ratio" 150
point calls_on_one_cpu_keep_up_with_processes_that_wake_each_other_there
at_most "$switches" 2500
point none_of_them_takes_more_than_two_changes_of_threads
at_most "$idle_us" 10000
point without_calls_one_cpu_has_nothing_to_do
at_most "$idle_switches" 60
point and_nothing_wakes_there

if [ -z "${2:-}" ]; then
	for name in on_two_cpus_a_call_takes_no_more_changes without_calls_two_cpus_have_nothing_to_do \
		and_nothing_wakes_on_two; do
		skip "$name" "one CPU"
	done
	exit 0
fi
measure "$1,$2"
at_most "$switches" 2500
point on_two_cpus_a_call_takes_no_more_changes
at_most "$idle_us" 10000
point without_calls_two_cpus_have_nothing_to_do
at_most "$idle_switches" 60
point and_nothing_wakes_on_two
