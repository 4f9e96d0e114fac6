#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a job which Slurm suspends leaves its device, and goes on with all it had when
# Slurm resumes it; and that a suspended job which is cancelled or goes back into the queue leaves
# nothing.
WH_TOP=@TOP@
WH_BUILD=@BUILD@
. "$WH_TOP/tests/slurm/lib.sh"

plugins=$(dirname "$(find /usr/lib -name task_none.so | head -n 1)")
task="TaskPlugin=task/wormhole
PluginDir=$plugins:$WH_BUILD/host/slurm"

# tenant NODE JOB prints the state of the job's tenant, and is NODE JOB STATE says whether it is this.
tenant() {
	"$wormhole" stat --json --dir "$tmp/d.$1" "slurm-$2" 2>/dev/null |
		/usr/bin/python3 -c "import json,sys; print(json.load(sys.stdin)[0]['state'])"
}
tenant_is() { [ "$(tenant "$1" "$2")" = "$3" ]; }
lines() { grep -c right "$tmp/out/$1"; }
further() { [ "$(lines "$1")" -gt "$2" ]; }
of_job() { squeue -h -j "$1" -o %T; }

# All servers have one device, which has its memory once. Workers write to no other folder.
books=$(mktemp /dev/shm/books.XXXXXX)
chmod 666 "$books"
export WORMHOLE_SOFTGPU_BIND=1 WORMHOLE_SOFTGPU_BOOKS="$books"
serving="--worker-uid none"
trap 'clean_up; rm -f "$books"' EXIT

plan 16
start_cluster

# A program that computes.
j=$(as_user sbatch --parsable -o "$tmp/out/%j" -w n1 --gpu-mem=128M --gpu-sm=50 --wrap "exec $load 1000000 1")
await further "$j" 3
scontrol suspend "$j"
ok a_suspended_jobs_tenant_is_suspended await tenant_is n1 "$j" suspended
is it_has_nothing_of_the_device "$(of_device n1 "$j" "d['memory']")" 0
is slurm_says_so "$(of_job "$j")" SUSPENDED
k=$(submit -w n1 --gpu-mem=450M --gpu-sm=10)
ok slurm_gives_its_part_to_no_other_job await waits_for "$k" Resources
scancel "$k"
scontrol resume "$j"
ok a_resumed_jobs_tenant_runs await tenant_is n1 "$j" running
ok its_program_goes_on await further "$j" "$(lines "$j")"
is with_right_values "$(grep -vc right "$tmp/out/$j")" 0
for i in 1 2 3; do
	scontrol suspend "$j"
	await tenant_is n1 "$j" suspended
	scontrol resume "$j"
	await tenant_is n1 "$j" running
done
ok it_goes_on_after_several_suspensions await further "$j" "$(lines "$j")"
is with_right_values_again "$(grep -vc right "$tmp/out/$j")" 0

# Somebody else has taken the memory meanwhile.
k=$(as_user sbatch --parsable -o "$tmp/out/%j" -w n2 --gpu-mem=256M --gpu-sm=10 --wrap "sleep 600 | $client alloc=200000000 ready wait")
await works "$k"
scontrol suspend "$k"
await tenant_is n2 "$k" suspended
mkfifo "$tmp/go"
WORMHOLE_DIR="$tmp/d.n2" "$wormhole" run -- "$client" alloc=400000000 ready wait <"$tmp/go" >"$tmp/taken" 2>&1 &
other=$!
exec 5>"$tmp/go"
await grep -q ready "$tmp/taken"
is a_suspended_jobs_memory_is_free_for_others "$(head -n 1 "$tmp/taken")" ok
scontrol resume "$k"
ok a_job_without_room_says_so_in_the_nodes_log await grep -q "job $k: its programs wait" "$tmp/slurmd.n2.log"
ok it_waits await tenant_is n2 "$k" suspended
exec 5>&-
wait $other
ok and_goes_on_when_there_is_room await tenant_is n2 "$k" running

# Back into the queue, and ended.
scontrol suspend "$k"
await tenant_is n2 "$k" suspended
scontrol requeue "$k"
# Slurm holds what was suspended.
await waits_for "$k" JobHeldAdmin
scontrol release "$k"
await again "$k"
await works "$k"
ok a_suspended_job_that_is_queued_again_runs_anew await tenant_is n2 "$k" running
scontrol suspend "$k"
await tenant_is n2 "$k" suspended
scancel "$j" "$k"
await no_jobs
is nothing_stays_of_cancelled_jobs "$(left)" ""

# A job that has nothing of a device.
j=$(submit -w n3)
await runs "$j"
is a_job_without_a_tenant_is_suspended_as_ever "$(scontrol suspend "$j" 2>&1; of_job "$j"; scontrol resume "$j"; scancel "$j")" SUSPENDED
await no_jobs
finish
