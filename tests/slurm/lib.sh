# SPDX-License-Identifier: Apache-2.0
# The tests of Slurm source this file, with WH_TOP and WH_BUILD set. It starts a cluster of three
# nodes on this machine, a server over softgpu for each, with munged, slurmctld and slurmd of
# their own. It uses nothing of the machine's own Slurm.
. "$WH_TOP/tests/tap.sh"
wormhole=$WH_BUILD/host/wormhole
client=$WH_BUILD/tests/tenant/bin/client
load=$WH_BUILD/tests/tenant/bin/load
plugin=$WH_BUILD/host/slurm/wormhole-spank.so
tmp=$(mktemp -d /tmp/whslurm.XXXXXX)
chmod 755 "$tmp"
export SLURM_CONF="$tmp/slurm.conf"
unset WORMHOLE_LOG WORMHOLE_SOCKET WORMHOLE_TRANSPORT WORMHOLE_DIR CUDA_VISIBLE_DEVICES
nodes="n1 n2 n3"
servers=$nodes	# each in its folder d.NAME
user=65534

# lacks prints why no cluster can run here, or nothing.
lacks() {
	[ "$(id -u)" = 0 ] || { echo "only root starts node daemons that run jobs as other users"; return; }
	for lacks_p in slurmctld slurmd srun munged; do
		PATH=$PATH:/usr/sbin command -v $lacks_p >/dev/null ||
			{ echo "$lacks_p is not installed"; return; }
	done
	[ -e "$plugin" ] || { echo "the plugin is not built: slurm/spank.h is not installed"; return; }
	setpriv --reuid $user --clear-groups test -r "$WH_BUILD/tests" ||
		{ echo "users cannot read what is built here"; return; }
	unshare -m true 2>/dev/null || echo "mount namespaces are refused here"
}
PATH=$PATH:/usr/sbin

free_ports() {
	/usr/bin/python3 - <<'END'
import socket
s = [socket.socket() for _ in range(6)]
for x in s: x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))
END
}

# write_nodes PORT... writes what `wormhole slurm conf` prints into slurm.conf and gres.conf, for
# three equal machines.
write_nodes() {
	for n in $nodes; do
		echo "NodeName=$n NodeHostname=$host NodeAddr=127.0.0.1 Port=$1 CPUs=64 $(sed -n '/^Gres=/p' "$tmp/conf")"
		shift
	done >>"$tmp/slurm.conf"
	sed -n '/^Name=/p' "$tmp/conf" >"$tmp/gres.conf"
}

write_conf() {
	host=$(hostname -s)
	# shellcheck disable=SC2046
	set -- $(free_ports)
	cat >"$tmp/slurm.conf" <<END
ClusterName=wormhole
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$tmp/munge.sock
CredType=cred/munge
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool.%n
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.%n.pid
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdLogFile=$tmp/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
${task:-TaskPlugin=task/none}
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=2
SlurmdTimeout=300
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_min_interval=100000,defer_batch=no
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PlugStackConfig=$tmp/plugstack.conf
$(sed -n '/^GresTypes=/p' "$tmp/conf")
CliFilterPlugins=lua
JobCompType=jobcomp/none
${prolog:-}
${records:-}
PartitionName=all Nodes=ALL Default=YES PriorityTier=1 OverSubscribe=NO MaxTime=60
PartitionName=urgent Nodes=ALL PriorityTier=10 MaxTime=60
PartitionName=spare Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE MaxTime=60
END
	shift
	write_nodes "$@"
	cp "$WH_TOP/host/slurm/cli_filter.lua" "$tmp"
	echo "required $plugin dir=$tmp/d.%n libs=$WH_BUILD/client-stubs" >"$tmp/plugstack.conf"
}

serve() { "$wormhole" serve --backend "${backend:-softgpu}" --daemon --part-size 16M ${serving:-} --dir "$tmp/d.$1" >>"$tmp/serve.$1" 2>&1; }
start_munged() {
	[ ! -S "$tmp/munge.sock" ] || return 0
	dd if=/dev/urandom of="$tmp/munge.key" bs=128 count=1 2>/dev/null
	chmod 400 "$tmp/munge.key"
	mkdir -p "$tmp/munge"
	munged --force --key-file="$tmp/munge.key" --socket="$tmp/munge.sock" --num-threads=2 \
		--pid-file="$tmp/munge/pid" --log-file="$tmp/munge/log" --seed-file="$tmp/munge/seed" \
		>/dev/null 2>&1
}
start_ctld() { slurmctld "$@" >>"$tmp/start.log" 2>&1; }
start_slurmd() { slurmd -N "$1" >>"$tmp/start.log" 2>&1; }
idle() { [ "$(sinfo -h -N -o %t | sort -u)" = idle ]; }

start_cluster() {
	for n in $servers; do serve "$n"; done
	"$wormhole" slurm conf --dir "$tmp/d.n1" >"$tmp/conf"
	write_conf
	mkdir -p "$tmp/state"
	mkdir -m 1777 "$tmp/out"
	start_munged
	# A controller that does not find its database ends, so the database comes first.
	[ -z "${records:-}" ] || await sacctmgr -i add cluster wormhole
	start_ctld
	for n in $nodes; do start_slurmd "$n"; done
	await idle
	# A daemon's start may still be asking a server, so this is repeated until it stays.
	await eval 'state >"$tmp/before" && as_before'
}

# tenants prints the tenants of all servers.
tenants() {
	for n in $servers; do "$wormhole" tenant list --dir "$tmp/d.$n" | sed '1d;/^default /d' | awk '{ print $1 }'; done
}
# monitor_of NODE prints the parent of its server and workers, after which cgroups are named.
monitor_of() { sed -n 's/^PPid:[^0-9]*//p' "/proc/$(cat "$tmp/d.$1/server.lock")/status"; }
# descriptors_of NODE counts those of its server. A command's connection is closed a while after the
# command's end, but before another one has its answer. So this has one of its own.
descriptors_of() {
	/usr/bin/python3 -c 'import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.send(b"{\"op\":\"list\"}")
s.recv(65536)
print(len(os.listdir(f"/proc/{sys.argv[2]}/fd")) - 1)' "$tmp/d.$1/control.sock" "$(monitor_of "$1")"
}
# state prints the files, descriptors, workers and cgroups of all servers. What the plugin locks
# may stay.
state() {
	find "$tmp"/d.* ! -name slurm.lock ! -name slurm.accounts ! -path '*/slurm.accounts/lock' | sort
	for n in $servers; do
		state_p=$(monitor_of "$n")
		echo "$n: $(descriptors_of "$n") descriptors, $(pgrep -c -P "$state_p" -f ^wormhole-worker) workers"
		find /sys/fs/cgroup -path "*/wormhole-$state_p/t-slurm-*" | sed "s/wormhole-$state_p/$n/"
	done
}
as_before() { state | cmp -s - "$tmp/before"; }
# left prints what exists now and did not before any job, and the reverse, after a while in which
# this may vanish.
left() { await as_before || state | diff "$tmp/before" -; }
# as_user COMMAND... runs a command as the user of jobs.
as_user() { setpriv --reuid $user --regid $user --clear-groups env HOME=/ "$@"; }

# A process that nobody has waited for has ended as well.
ended() { [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"; }
stop_pid() {
	[ -s "$1" ] || return 0
	stop_p=$(cat "$1")
	kill "$stop_p" 2>/dev/null
	await ended "$stop_p" || kill -9 "$stop_p"
}
no_jobs() { [ -z "$(squeue -h)" ]; }
runs() { [ "$(squeue -h -j "$1" -o %T)" = RUNNING ]; }
waits_for() { squeue -h -j "$1" -o '%T %r' | grep -q "PENDING $2"; }
# again JOB starts a job that went back into the queue. On a busy machine the end of its first run
# may postpone it again after this.
again() { scontrol update jobid="$1" starttime=now; runs "$1"; }
node_of() { squeue -h -j "$1" -o %N; }
# submit OPTIONS... submits a job that lasts until it is cancelled, and prints its number.
submit() { as_user sbatch --parsable -o /dev/null "$@" --wrap 'sleep 600'; }
# holder OPTIONS... does the same with a program that has device memory. works JOB says whether it
# has the memory by now. A controller that has forgotten its jobs gives their numbers again.
holder() {
	rm -f "$tmp/out/"*
	as_user sbatch --parsable -o "$tmp/out/%j" "$@" --wrap "sleep 600 | $client alloc=1000000 ready wait"
}
works() { grep -q ready "$tmp/out/$1"; }
# programs prints the processes of jobs, which a killed slurmstepd leaves behind.
programs() {
	for programs_p in $(pgrep -U "$user"); do
		! grep -qzx "SLURM_CONF=$SLURM_CONF" "/proc/$programs_p/environ" 2>/dev/null || echo "$programs_p"
	done
}
# of_device NODE JOB VALUES prints values of d, what the server says of the tenant on its device.
of_device() {
	"$wormhole" stat --json --dir "$tmp/d.$1" "slurm-$2" | /usr/bin/python3 -c \
		"import json,sys; d=json.load(sys.stdin)[0]['devices'][0]; print($3)"
}
# limits NODE JOB prints the limits of the job's tenant on the server, in MiB and percent.
limits() { of_device "$1" "$2" "d['memory_limit']>>20, d['sm_percent']"; }

# ceiling NODE JOB prints how much of the device's time the job's tenant may take, in percent.
ceiling() { of_device "$1" "$2" "d['sm_max_percent']"; }
# class NODE JOB prints the class of the job's tenant.
class() { of_device "$1" "$2" "d['priority']"; }

clean_up() {
	if [ -s "$tmp/slurmctld.pid" ]; then
		scancel -u "$user" >/dev/null 2>&1
		await no_jobs
	fi
	for n in $nodes; do stop_pid "$tmp/slurmd.$n.pid"; done
	for p in $(programs); do kill "$p"; done
	stop_pid "$tmp/slurmctld.pid"
	stop_pid "$tmp/slurmdbd.pid"
	stop_pid "$tmp/db.pid"
	stop_pid "$tmp/munge/pid"
	for n in $servers; do "$wormhole" stop --force --dir "$tmp/d.$n" >/dev/null 2>&1; done
	[ -n "${WH_KEEP:-}" ] || rm -rf "$tmp"
}
trap clean_up EXIT
# The test may be stopped from outside, and its daemons must not stay.
trap 'exit 1' HUP INT PIPE TERM

missing=$(lacks)
if [ -n "$missing" ]; then
	trap - EXIT
	rm -rf "$tmp"
	echo "1..0 # SKIP $missing"
	exit 0
fi
