#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises jobs on a machine of four devices of 1 to 4 GiB, which is a node for each
# device, as `wormhole slurm conf` makes it. It also tests one node that has all devices, whose
# sums alone Slurm then knows.
WH_TOP=@TOP@
WH_BUILD=@BUILD@
. "$WH_TOP/tests/slurm/lib.sh"

plan 18

backend=$WH_BUILD/tests/shm/bin/fake_devices.so
machine=$(hostname -s)
nodes="$machine-gpu0 $machine-gpu1 $machine-gpu2 $machine-gpu3 whole"
servers="n1 whole"
# Ports and processors are those that a test may have.
write_nodes() {
	for n in $nodes; do
		grep "^NodeName=$n .*Port=" "$tmp/conf" |
			sed "s/ Port=[0-9]*/ Port=$1 NodeAddr=127.0.0.1/; s/ CPUs=[0-9]*/ CPUs=64/"
		last=$1
		shift
	done >>"$tmp/slurm.conf"
	echo "NodeName=whole NodeHostname=$machine NodeAddr=127.0.0.1 Port=$last CPUs=64 Gres=gpumem:10240,gpusm:400" \
		>>"$tmp/slurm.conf"
	grep '^NodeName=.* Name=' "$tmp/conf" >"$tmp/gres.conf"
	echo "NodeName=whole Name=gpumem Count=10240 Flags=CountOnly
NodeName=whole Name=gpusm Count=400 Flags=CountOnly" >>"$tmp/gres.conf"
	for n in 0 1 2 3; do ln -s d.n1 "$tmp/d.$machine-gpu$n"; done
}
# has SERVER TENANT prints the tenant's device, memory in MiB and share. A device that it does not
# have shows as a byte and a percent, and is left out.
has() { # SERVER TENANT
	"$wormhole" stat --json --dir "$tmp/d.$1" "$2" | /usr/bin/python3 -c "import json, sys
for d in json.load(sys.stdin)[0]['devices']:
    if d['memory_limit'] > 1: print(d['device'], d['memory_limit'] >> 20, d['sm_percent'])"
}
tenant() { has n1 "slurm-$1.gpu$2"; }
# Only jobs that ask for it run on `whole`.
each() { submit -x whole "$@"; }

start_cluster
is each_device_of_a_machine_is_a_node "$(sinfo -h -N -p all -o '%N %G' | grep -v whole)" \
	"$(for n in 0 1 2 3; do echo "$machine-gpu$n gpumem:$((1 + n))K,gpusm:100"; done)"

# --- Placement -----------------------------------------------------------------------------------
a=$(each --gpu-mem=3500M --gpu-sm=60)
await runs "$a"
is job_lands_on_the_device_that_has_the_room "$(node_of "$a")" "$machine-gpu3"
await tenant "$a" 3
is and_has_its_part_of_that_device_alone "$(tenant "$a" 3)" "3 3500 60"
b=$(each --gpu-mem=3000M --gpu-sm=60)
await runs "$b"
is next_one_lands_where_there_is_room_beside_it "$(node_of "$b")" "$machine-gpu2"
c=$(each --gpu-mem=2500M --gpu-sm=10)
ok job_waits_that_fits_all_devices_together_and_none_alone await waits_for "$c" Resources
d=$(each --gpu-mem=500M --gpu-sm=30)
e=$(each --gpu-mem=500M --gpu-sm=80)
await runs "$d"
await runs "$e"
ok share_and_memory_are_of_one_device test "$(node_of "$d")" != "$(node_of "$e")"
scancel "$a"
await runs "$c"
is it_starts_where_a_device_is_free "$(node_of "$c")" "$machine-gpu3"
f=$(submit -w "$machine-gpu0,$machine-gpu1" -N2 --gpu-mem=100M --gpu-sm=5)
await runs "$f"
as_user srun -Q --jobid "$f" true
is job_on_two_devices_has_a_tenant_on_each "$(tenant "$f" 0; tenant "$f" 1)" "0 100 5
1 100 5"

# --- Preemption -----------------------------------------------------------------------------------
g=$(each -p urgent --gpu-mem=4G --gpu-sm=100)
await runs "$g"
await tenant "$g" 3
is urgent_job_gets_the_whole_device "$(tenant "$g" 3)" "3 4096 100"
is and_tenant_of_the_job_before_is_gone "$(tenants | grep -c "^slurm-$c\.")" 0
is those_on_other_devices_go_on "$(tenant "$b" 2)" "2 3000 60"
scancel "$g"
h=$(each -p spare --gpu-mem=2500M --gpu-sm=10)
await runs "$h"
await tenant "$h" 3
g=$(each -p urgent --gpu-mem=4G --gpu-sm=100)
await runs "$g"
ok job_that_may_go_back_does_for_an_urgent_one await waits_for "$h" BeginTime
is and_its_tenant_is_gone "$(tenants | grep -c "^slurm-$h\.")" 0
scancel "$g"
await sh -c "! squeue -h -j $g | grep -q ."
await again "$h"
await tenant "$h" 3
is it_has_its_part_again_when_it_runs_again "$(tenant "$h" 3)" "3 2500 10"
scancel "$h"
await sh -c "! squeue -h -j $h | grep -q ."

# --- A node that is all devices ------------------------------------------------------------------------
p=$(submit -w whole --gpu-mem=3500M --gpu-sm=60)
await has whole "slurm-$p"
q=$(submit -w whole --gpu-mem=3500M --gpu-sm=60)
ok batch_job_that_fits_no_device_goes_back_into_the_queue await waits_for "$q" BeginTime
like and_its_node_serves_on "$(sinfo -h -n whole -p all -o %t)" "^alloc\|mix$"
scancel "$p"
await sh -c "! squeue -h -j $p | grep -q ."
await again "$q"
await has whole "slurm-$q"
is it_gets_its_part_when_a_device_is_free "$(has whole "slurm-$q")" "3 3500 60"

scancel -u "$user"
await no_jobs
is nothing_stays_of_ended_jobs "$(left)" ""
finish
