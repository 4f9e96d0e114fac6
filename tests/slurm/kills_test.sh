#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Daemons that are killed: a tenant goes when its job does, whoever did not live to see it.
WH_TOP=@TOP@
WH_BUILD=@BUILD@
. "$WH_TOP/tests/slurm/lib.sh"

plan 9

start_cluster
hit() { kill -9 "$1" && await ended "$1"; }
# A controller that is killed before it has written its state has forgotten what was since.
saved() {
	touch "$tmp/mark"
	scontrol update jobid="$1" comment=saved
	await test "$tmp/state/job_state" -nt "$tmp/mark"
}
has_tenant() { tenants | grep -q "^slurm-$1\$"; }

j=$(submit -w n1 --gpu-mem=128M --gpu-sm=30)
await has_tenant "$j"
hit "$(cat "$tmp/slurmd.n1.pid")"
scancel "$j"
start_slurmd n1
ok tenant_of_a_job_that_ended_without_slurmd_goes_with_the_next await no_tenants
await no_jobs

await idle
j=$(submit -w n2 --gpu-mem=128M --gpu-sm=30)
await has_tenant "$j"
saved "$j"
hit "$(cat "$tmp/slurmctld.pid")"
start_ctld
await runs "$j"
is job_keeps_its_tenant_without_a_controller "$(limits n2 "$j")" "128 30"
scancel "$j"
ok tenant_goes_with_the_next_controller await no_tenants

j=$(submit -w n3 --gpu-mem=128M --gpu-sm=30)
await has_tenant "$j"
hit "$(pgrep -f "slurmstepd: \\[$j\\.batch\\]")"
scancel "$j"
ok tenant_goes_where_the_job_s_own_daemon_was_killed await no_tenants
await no_jobs

await idle
# Nobody orders an epilog of a job that its controller has forgotten and that has no process left.
await idle
j=$(submit -w n2 --gpu-mem=128M --gpu-sm=30)
await has_tenant "$j"
hit "$(cat "$tmp/slurmd.n2.pid")"
hit "$(pgrep -f "slurmstepd: \\[$j\\.batch\\]")"
hit "$(cat "$tmp/slurmctld.pid")"
start_ctld -c
await sinfo
is tenant_of_a_job_that_is_forgotten_stays_without_slurmd "$(tenants)" "slurm-$j"
start_slurmd n2
ok and_goes_with_the_next_slurmd await no_tenants

await idle
j=$(submit -w n3 --gpu-mem=128M --gpu-sm=30)
await has_tenant "$j"
hit "$(cat "$tmp/d.n3/server.lock")"
serve n3
is next_server_has_no_tenant_of_a_killed_one "$(tenants)" ""
like next_step_of_the_job_gets_it_again \
	"$(as_user srun --overlap --jobid "$j" "$client" info 2>&1)" "^total $((128 << 20)) "
scancel "$j"
ok and_it_ends_with_the_job await no_tenants
finish
