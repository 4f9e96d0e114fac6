#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what a job of Slurm gets: a tenant of a node that has the room, and its socket
# alone. Nothing of the tenant stays.
WH_TOP=@TOP@
WH_BUILD=@BUILD@
. "$WH_TOP/tests/slurm/lib.sh"

plan 39
# A step that contains a job's other processes comes before those of the job.
prolog=PrologFlags=Contain

start_cluster
is nodes_have_what_slurm_conf_prints "$(sinfo -h -N -o %G | sort -u)" "gpumem:512,gpusm:100"

# shellcheck disable=SC2016
out=$(as_user srun --gpu-mem=256M --gpu-sm=30 -w n1 sh -c 'id -u; ls -R "$1"; exec "$2" info' - "$tmp/d.n1" "$client")
like job_runs_as_its_user "$out" "^$user\$"
like device_has_as_much_as_was_asked_for "$out" "^total $((256 << 20)) "
is job_sees_its_socket_and_nothing_else "$(echo "$out" | sed 1d | head -2 | tr '\n' ' ')" "$tmp/d.n1: server.sock "

a=$(submit -w n1 --gpu-mem=128M --gpu-sm=30)
b=$(submit -w n1 --gpu-mem=256M --gpu-sm=60)
await runs "$a"; await runs "$b"
await limits n1 "$b"
is first_of_two_jobs_has_its_limits "$(limits n1 "$a")" "128 30"
is second_of_two_jobs_has_its_limits "$(limits n1 "$b")" "256 60"
c=$(as_user sbatch --parsable -o "$tmp/out/c" -w n2 --gpu-mem=64M --gpu-sm=4 --wrap "exec $load 1000000 1")
d=$(as_user sbatch --parsable -o "$tmp/out/d" -w n2 --gpu-mem=64M --gpu-sm=12 --wrap "exec $load 1000000 2")
await grep -q right "$tmp/out/c"; await grep -q right "$tmp/out/d"
# One of some measurements counts: a machine that stands still in the middle of a kernel makes the
# kernel longer.
for _ in 1 2 3 4 5; do
	# shellcheck disable=SC2046
	set -- $(/usr/bin/python3 "$WH_TOP/tests/slurm/shares.py" "$wormhole" "$tmp/d.n2" "slurm-$c" "slurm-$d")
	diag "they had $1 % and $2 % of the device's time"
	[ "$1" -gt 6 ] || [ "$2" -gt 15 ] || [ "$2" -le $(($1 * 3 / 2)) ] || break
done
ok first_of_two_jobs_at_work_has_no_more_than_its_share test "$1" -le 6
ok nor_has_the_second test "$2" -le 15
ok which_has_more_by_its_larger_share test "$2" -gt $(($1 * 3 / 2))
scancel "$c" "$d"

ok limits_of_a_job_are_lowered_while_it_runs "$wormhole" limit --dir "$tmp/d.n1" "slurm-$b" --mem 200M --sm 50
"$wormhole" limit --dir "$tmp/d.n1" "slurm-$b" --mem 300M >/dev/null 2>&1
"$wormhole" limit --dir "$tmp/d.n1" "slurm-$b" --sm none >/dev/null 2>&1
is and_never_raised_beyond_what_it_was_given "$(limits n1 "$b")" "200 50"

# shellcheck disable=SC2016
out=$(as_user env WORMHOLE_SOCKET="$tmp/d.n1/tenants/slurm-$b.sock" WORMHOLE_DIR="$tmp/d.n1" \
	srun -w n1 --gpu-mem=64M --gpu-sm=10 sh -c 'WORMHOLE_SOCKET="$3"; export WORMHOLE_SOCKET
	ls "$3" 2>&1; unset WORMHOLE_SOCKET; WORMHOLE_SOCKET=$1/server.sock exec "$2" info' \
	- "$tmp/d.n1" "$client" "$tmp/d.n1/tenants/slurm-$b.sock" 2>&1)
like environment_leads_to_no_other_tenant "$out" "slurm-$b.sock.*No such file"
like its_own_tenant_is_what_is_left "$out" "^total $((64 << 20)) "

# This allocation has two steps; its tenant stays while neither runs.
mkfifo -m 666 "$tmp/out/go"
# shellcheck disable=SC2016
as_user salloc -Q -w n3 --gpu-mem=64M --gpu-sm=10 sh -c 'srun -Q true; echo "$SLURM_JOB_ID" >"$1/between"
	read -r _ <"$1/go"; srun -Q "$2" info >"$1/second"' - "$tmp/out" "$client" >/dev/null 2>&1 &
allocation=$!
await test -s "$tmp/out/between"
is tenant_of_an_allocation_stays_between_its_steps "$(limits n3 "$(cat "$tmp/out/between")")" "64 10"
echo >"$tmp/out/go"
wait $allocation
like its_next_step_is_a_client_of_it "$(cat "$tmp/out/second")" "^total $((64 << 20)) "

c=$(submit -w n1 --gpu-mem=64M --gpu-sm=30)
ok job_waits_where_no_share_is_left await waits_for "$c" Resources
scancel "$a"
ok job_starts_when_a_share_is_free await runs "$c"
ok too_much_for_any_node_is_refused sh -c '! "$@"' - as_user srun --gpu-mem=600M true

# shellcheck disable=SC2016
out=$(as_user srun -w n1 sh -c 'ls "$1" | wc -l' - "$tmp/d.n1")
is job_without_a_share_has_no_socket "$out" 0

sed -i 's/$/ sm-max=60/' "$tmp/plugstack.conf"
d=$(submit -w n2 --gpu-mem=64M --gpu-sm=20)
e=$(submit -w n3 --gpu-mem=64M --gpu-sm=70)
await runs "$d"; await runs "$e"
await ceiling n2 "$d"; await ceiling n3 "$e"
is jobs_may_take_what_is_idle_up_to_the_clusters_ceiling "$(ceiling n2 "$d")" 60
is and_a_larger_share_is_its_own_ceiling "$(ceiling n3 "$e")" 70
scancel "$d" "$e"


# has_class NODE JOB CLASS: its tenant comes with its first step.
has_class() { await class "$1" "$2"; is "$4" "$(class "$1" "$2")" "$3"; }
d=$(submit -w n2 --gpu-mem=64M --gpu-sm=20)
e=$(submit -w n3 --gpu-mem=64M --gpu-sm=20 --gpu-priority=low)
has_class n2 "$d" normal a_job_that_asks_for_no_class_is_normal
has_class n3 "$e" low and_one_may_be_low
said=$(as_user srun --gpu-mem=64M --gpu-priority=high true 2>&1)
like a_higher_class_than_the_clusters_is_refused "$said" "have 'normal' at most, not 'high'"
like another_class_is_refused "$(as_user srun --gpu-mem=64M --gpu-priority=urgent true 2>&1)" "'urgent' is neither low, normal nor high"
like and_one_without_memory "$(as_user srun --gpu-priority=low true 2>&1)" '--gpu-priority needs --gpu-mem'
scancel "$d" "$e"
# What the submission would have refused comes to the node.
e=$(submit -w n3 --gres=gpumem:64 --export=ALL,_SLURM_SPANK_OPTION_wormhole_gpu_priority=high)
has_class n3 "$e" normal an_environment_leads_to_no_higher_class
ok of_which_the_nodes_log_tells grep -q "job $e: it asked for the class 'high'" "$tmp/slurmd.n3.log"
ok its_node_stays_in_service sh -c '! sinfo -h -N -n n3 -o %t | grep -q drain'
scancel "$e"
sed -i 's/$/ priority=high/' "$tmp/plugstack.conf"
like what_would_not_reach_the_node_is_refused "$(submit --gpu-mem=64M --gpu-priority=low --export=NONE 2>&1)" "say --export=ALL"
d=$(submit -w n2 --gpu-mem=64M --gpu-sm=20 --gpu-priority=high)
has_class n2 "$d" high where_the_cluster_lets_it_a_job_is_high
"$wormhole" limit --dir "$tmp/d.n2" "slurm-$d" --priority low
is and_is_lowered_while_it_runs "$(class n2 "$d")" low
scancel "$d"
as_user salloc -w n3 --gpu-mem=64M --gpu-priority=high sh -c 'srun sh -c "echo \$SLURM_JOB_ID >$1; until [ -e $2 ]; do sleep 0.1; done"' \
	- "$tmp/out/of" "$tmp/out/over" >/dev/null 2>&1 &
allocation=$!
await test -s "$tmp/out/of"
is a_step_has_the_class_of_its_allocation "$(class n3 "$(cat "$tmp/out/of")")" high
touch "$tmp/out/over"
wait $allocation
sed -i 's/ priority=high$/ priority=low/' "$tmp/plugstack.conf"
d=$(submit -w n2 --gpu-mem=64M)
has_class n2 "$d" low a_cluster_of_low_jobs_makes_them_low
sed -i 's/ priority=low$/ priority=1/' "$tmp/plugstack.conf"
like what_is_no_class_in_the_configuration_is_named "$(as_user srun --gpu-mem=64M true 2>&1)" "'priority=1': '1' is neither low"
scancel "$d"
ok a_job_that_ends_then_leaves_no_tenant await sh -c '! [ -e "$1" ]' - "$tmp/d.n2/tenants/slurm-$d.limits"
sed -i 's/ priority=1$//' "$tmp/plugstack.conf"

d=$(submit -p urgent -w n1 --gpu-mem=400M --gpu-sm=90)
ok urgent_job_takes_the_place_of_others await runs "$d"
await limits n1 "$d"
# Those of other nodes, too, whose epilogs may come later.
is_alone() { [ "$(tenants)" = "slurm-$d" ]; }
await is_alone
is and_their_tenants_are_gone "$(tenants)" "slurm-$d"

scancel -u "$user"
await no_jobs
is nothing_stays_of_ended_jobs "$(left)" ""
finish
