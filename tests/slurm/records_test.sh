#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the job's record, where sacct shows it, has what its tenant has used,
# however the job ended.
WH_TOP=@TOP@
WH_BUILD=@BUILD@
. "$WH_TOP/tests/slurm/lib.sh"
. "$WH_TOP/tests/slurm/records.sh"

plan 11

start_records
start_cluster
# used NODE JOB prints what the server says, in the form of the record.
used() {
	"$wormhole" stat --json --dir "$tmp/d.$1" "slurm-$2" | /usr/bin/python3 -c "import json, sys
d = json.load(sys.stdin)[0]['devices'][0]
print('wormhole:node=$1,gpu_s=%.3f,memory_peak_mib=%d,throttled_s=%.3f' %
      (d['gpu_ns'] / 1e9, -(-d['memory_peak'] >> 20), d['throttled_ns'] / 1e9))"
}
has_record() { record "$1" | grep -q wormhole:; }
# worker OPTIONS... submits a job that works, and then waits until it is cancelled; it prints the
# job's number.
worker() {
	as_user sbatch --parsable -o "$tmp/out/%j" "$@" \
		--wrap "sleep 600 | $client alloc=100000000 launch=300 ready wait"
}

# --- Of a job that ends ------------------------------------------------------------------------
as_user srun -Q --gpu-mem=256M --gpu-sm=2 -w n1 "$client" alloc=100000000 launch=2000 >/dev/null
ok record_of_a_job_has_what_it_used await has_record 1
like with_its_peak_of_memory "$(record 1)" "^wormhole:node=n1,.*memory_peak_mib=96,"
like its_time_on_the_device_and_its_throttled_time "$(record 1)" ",gpu_s=0\.[0-9]*[1-9][0-9]*,.*throttled_s=[0-9.]*[1-9]"

# --- Of one that is cancelled
# --------------------------------------------------------------------- Where Slurm's own epilog
# runs, the controller changes nothing of the job any more.
j=$(worker -w n2 --gpu-mem=256M --gpu-sm=20)
await works "$j"
scontrol update jobid="$j" admincomment="the operator's \"word\""
figures=$(used n2 "$j")
scancel "$j"
await has_record "$j"
is record_of_a_cancelled_job_is_what_its_server_said_to_the_last "$(record "$j")" \
	"the operator's \"word\";$figures"

# --- Of one that is put back into the queue ---------------------------------------------------------
j=$(worker -w n2 --gpu-mem=256M --gpu-sm=20 --requeue)
await works "$j"
first=$(used n2 "$j")
scontrol requeue "$j"
await waits_for "$j" BeginTime
# A node refuses a run that begins in the second in which the last one ended, and the end of the
# last one may reach the controller after the next has begun. Slurm puts the job back then, or
# holds it, and it is started once more.
runs_again() {
	works "$j" && second=$(used n2 "$j") && [ -n "$second" ] && return
	scontrol release "$j"
	scontrol update jobid="$j" starttime=now
	return 1
}
rm -f "$tmp/out/$j"
second=
await runs_again
scancel "$j"
ends() { record "$j" | sed -n '1p;${1!p}'; }
both_runs() { [ "$(ends | grep -c wormhole:)" = 2 ] && [ "$(ends | sed -n 2p)" = "$second" ]; }
await both_runs || grep "JobId=$j" "$tmp/slurmctld.log" | tail -n 40 | sed 's/^/# /'
is each_run_of_a_job_has_a_record "$(ends)" "$first
$second"

# --- Of tasks of an array
# ----------------------------------------------------------------------------- One of the tasks
# has the array's number as its own. They end in the same second.
j=$(as_user sbatch --parsable -o "$tmp/out/%A.%a" --array=1-3 -w n2 --gpu-mem=64M --gpu-sm=10 \
	--wrap "sleep 600 | $client alloc=\$((SLURM_ARRAY_TASK_ID << 24)) ready wait")
all_work() { [ "$(cat "$tmp/out/$j."* | grep -c ready)" = 3 ]; }
# slurmdbd hears of an array some seconds late.
known() { [ "$(sacct -n -X -P -j "$j" -o JobID,State | grep -c "^${j}_[123].RUNNING")" = 3 ]; }
await all_work
await known
scancel "$j"
each_task() {
	[ "$(sacct -n -X -P -j "$j" -o JobID,AdminComment | sed 's/|.*\(memory[^,]*\).*/ \1/' | sort)" = "${j}_1 memory_peak_mib=16
${j}_2 memory_peak_mib=32
${j}_3 memory_peak_mib=48" ]
}
ok each_task_of_an_array_has_its_record await each_task
none_kept() { [ -z "$(ls "$tmp"/d.*/slurm.accounts | grep '^[0-9]')" ]; }
ok and_no_more_of_it_is_kept await none_kept

# --- Of one on several nodes --------------------------------------------------------------------------
# shellcheck disable=SC2016
j=$(as_user srun -Q -N3 --gpu-mem=256M --gpu-sm=20 sh -c '"$1" alloc=100000000 launch=300 >&2; echo "$SLURM_JOB_ID"' \
	- "$client" 2>/dev/null | sort -u)
three() { [ "$(record "$j" | grep -o 'node=n[123],' | sort -u | wc -l)" = 3 ]; }
ok record_of_a_job_on_three_nodes_has_all_of_them await three
is and_each_once "$(record "$j" | grep -o 'node=n[123],' | wc -l)" 3

# --- While slurmdbd is away -----------------------------------------------------------------------------
p=$(cat "$tmp/slurmdbd.pid")
kill -9 "$p"
await ended "$p"
as_user srun -Q --gpu-mem=256M --gpu-sm=20 -w n1 "$client" alloc=100000000 launch=300 >/dev/null 2>&1
j=$((j + 1))
await no_jobs
start_slurmdbd
ok figures_wait_for_a_slurmdbd_that_is_away await has_record "$j"
ok and_none_is_kept_that_is_in_a_record await none_kept
finish
