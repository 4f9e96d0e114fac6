#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a job survives a program which does not end. The program is named and
# killed with all that it started, the kernel says where all tasks wait, and the job goes on.
. "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}/tests/tap.sh"
: "${WH_BUILD:=$WH_TOP/build}"
out=$WH_BUILD/bochs/hang
rm -rf "$out"
mkdir -p "$out/job"
cat >"$out/job/run" <<'RUN'
. /job.sh
TAP_TIMEOUT=2
tap stuck sh -c 'echo 1..1; sleep 1000 & wait'
tap next sh -c 'echo 1..1; echo "ok 1 - runs"'
[ -z "$(pidof sleep)" ]
ok $? nothing_is_left
RUN
"$WH_TOP/tests/bochs/run_job.py" --timeout 100 --out "$out" --kernel "$WH_BUILD/kernel/host/bzImage" \
	--initrd "$WH_BUILD/bochs/host.cpio" "$out/job" >"$out/log" 2>/dev/null
rc=$?
has() { grep -q -e "$1" "$out/log"; }

plan 7
ok job_fails [ $rc = 1 ]
ok program_is_named has '^not ok [0-9]* - stuck/ends_within_2_s$'
ok dump_names_tasks has '^# task| [0-9]*/task/[0-9]* sleep 1000'
ok dump_shows_where_they_wait has '^# task|.*hrtimer_nanosleep'
ok dump_shows_processors has '^# kernel|.*sysrq: Show backtrace of all active CPUs'
ok job_goes_on has '^ok [0-9]* - next/runs$'
ok what_it_started_is_killed has '^ok [0-9]* - nothing_is_left$'
finish
