#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a tenant goes when its job does, even if daemons were killed before they
# could see the end.
WH_TOP=@TOP@
WH_BUILD=@BUILD@
. "$WH_TOP/tests/slurm/lib.sh"

plan 10

start_cluster
hit() { kill -9 "$1" && await ended "$1"; }
# A controller that is killed before it has written its state forgets what happened since.
saved() {
	touch "$tmp/mark"
	scontrol update jobid="$1" comment=saved
	await test "$tmp/state/job_state" -nt "$tmp/mark"
}

j=$(holder -w n1 --gpu-mem=128M --gpu-sm=30)
await works "$j"
hit "$(cat "$tmp/slurmd.n1.pid")"
scancel "$j"
start_slurmd n1
is tenant_of_a_job_that_ended_without_slurmd_goes_with_the_next "$(left)" ""
await no_jobs

await idle
j=$(holder -w n2 --gpu-mem=128M --gpu-sm=30)
await works "$j"
saved "$j"
hit "$(cat "$tmp/slurmctld.pid")"
start_ctld
await runs "$j"
is job_keeps_its_tenant_without_a_controller "$(limits n2 "$j")" "128 30"
scancel "$j"
is tenant_goes_with_the_next_controller "$(left)" ""

j=$(holder -w n3 --gpu-mem=128M --gpu-sm=30)
await works "$j"
hit "$(pgrep -f "slurmstepd: \\[$j\\.batch\\]")"
scancel "$j"
is tenant_goes_where_the_job_s_own_daemon_was_killed "$(left)" ""
await no_jobs

await idle
# Nobody orders an epilog for a job that its controller has forgotten and that has no process
# left.
await idle
j=$(holder -w n2 --gpu-mem=128M --gpu-sm=30)
await works "$j"
hit "$(cat "$tmp/slurmd.n2.pid")"
hit "$(pgrep -f "slurmstepd: \\[$j\\.batch\\]")"
hit "$(cat "$tmp/slurmctld.pid")"
start_ctld -c
await sinfo
is tenant_of_a_job_that_is_forgotten_stays_without_slurmd "$(tenants)" "slurm-$j"
start_slurmd n2
is and_goes_with_the_next_slurmd "$(left)" ""

await idle
j=$(holder -w n3 --gpu-mem=128M --gpu-sm=30)
await works "$j"
p=$(monitor_of n3)
hit "$p"
no_workers() { ! pgrep -f -- "^wormhole-worker.* --parent $p "; }
ok workers_of_a_killed_server_end await no_workers
serve n3
is next_server_has_no_tenant_of_a_killed_one "$(tenants)" ""
like next_step_of_the_job_gets_it_again \
	"$(as_user srun --overlap --jobid "$j" "$client" info 2>&1)" "^total $((128 << 20)) "
scancel "$j"
is and_it_ends_with_the_job "$(left)" ""
finish
