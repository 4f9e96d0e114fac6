#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the supervisor keeps one worker for each part of each window, whatever
# happens to them. The processes are real; role and device are faked. It runs on any machine.
set -u

here=$(cd "$(dirname "$0")" && pwd)
: "${WH_TOP:=$here/../../..}"
. "$WH_TOP/tests/tap.sh"
sup=$here/fake_supervisor
tmp=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -9 $pid 2>/dev/null; rm -rf "$tmp"' EXIT
# When the test is stopped from outside, the trap on EXIT runs as well.
trap 'exit 1' HUP INT PIPE TERM
export tmp here

judge() { point "$1" || sed 's/^/# /' "$tmp/err"; }

# The worker says who it is, then does what $tmp/wait.PID says.
cat >"$tmp/worker" <<'END'
#!/bin/sh
case "$*" in *--devices*) exec "$here/devices.py" "${*##* }" ;; esac
echo "$$ $*" >>"$tmp/started"
mkfifo "$tmp/wait.$$"
[ ! -s "$tmp/fail" ] || eval "printf . >&$(echo "$*" | sed 's/.*--ready \([0-9]*\).*/\1/')"
[ ! -e "$tmp/fail" ] || exit 3
# The words are: fork leaves a process behind, eat takes 64 MiB; a number is the exit status. A
# read gives nothing at all when the writer of the last word has not closed the pipe yet.
while :; do
	read -r word <"$tmp/wait.$$" || continue
	case $word in
	fork) sleep 1000 & echo $! >"$tmp/left.$$" ;;
	eat) head -c 67108864 /dev/zero | tail -c 67108864 >/dev/null; echo $? >"$tmp/ate.$$" ;;
	*) exit "$word" ;;
	esac
done
END
chmod +x "$tmp/worker"

started() {
	cat "$tmp/started" 2>/dev/null | wc -l
}

at_least() { [ "$(started)" -ge "$1" ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }
ready() { [ -p "$tmp/wait.$1" ]; }

start() {
	rm -f "$tmp/started"
	FAKE_WINDOWS=2 "$sup" --device /dev/null --worker "$tmp/worker" --nvml none \
		--tenants "$tmp/t" --backend /lib/b.so "$@" 2>"$tmp/err" &
	pid=$!
}

stop() {
	kill -TERM $pid
	wait $pid
}

plan 32
: >"$tmp/err"

start --parts 2 --cpus 3-6 --uid 5000 -- --stack 1M
await at_least 4
judge one_worker_starts_for_each_part
args=$(sed -n 's/^[0-9]* //p' "$tmp/started" | grep -e '--window 1 --part 1 ' | sed 's/ --ready [0-9]*//')
case $args in
"--device /dev/null --backend /lib/b.so --window 1 --part 1 --cpu 6 --parent $pid --part-size 4194304 --uid 5003 --tenant $tmp/t/window1 --account 1 --stack 1M")
	true ;;
*)	diag "$args"; false ;;
esac
judge workers_get_their_own_part_cpu_and_user
[ -z "$(cut -d' ' -f2- "$tmp/started" | sort | uniq -d)" ]
judge no_two_workers_are_the_same

# A worker serves its client and ends.
w=$(sed -n '/--window 0 --part 1 /s/ .*//p' "$tmp/started")
await ready "$w"
echo 0 >"$tmp/wait.$w"
await at_least 5
judge worker_that_served_is_replaced
tail -1 "$tmp/started" | grep -q -e '--window 0 --part 1 '
judge replacement_serves_the_same_part
grep -q "^info: window 0 part 1: worker $w ended with its client" "$tmp/err"
judge end_of_a_worker_is_logged

# A worker is killed.
w=$(tail -1 "$tmp/started" | cut -d' ' -f1)
kill -9 "$w"
await at_least 6
judge killed_worker_is_replaced
grep -q "^warn: window 0 part 1: worker $w died of signal 9" "$tmp/err"
judge death_of_a_worker_is_logged

all=$(cut -d' ' -f1 "$tmp/started")
stop
left=0
for p in $all; do await gone "$p" || left=1; done
pid=
[ $left = 0 ]
judge sigterm_ends_all_workers

# A worker that cannot start is tried again after 100, 200, 400, 800 ms, and not in a busy loop.
: >"$tmp/fail"
start --windows 1 --cpus 3
await at_least 4
judge failing_worker_is_tried_again
sed -n 's/.*next in \([0-9]*\) ms$/\1/p' "$tmp/err" | head -3 | tr '\n' ' ' >"$tmp/pauses"
[ "$(cat "$tmp/pauses")" = "100 200 400 " ]
judge failing_worker_is_tried_ever_more_seldom
stop
# A worker is ready, and is then ended by its client, whoever that is.
echo ready >"$tmp/fail"
start --windows 1 --cpus 3
await at_least 6
sed -n 's/.*next in \([0-9]*\) ms$/\1/p' "$tmp/err" | head -5 | tr '\n' ' ' >"$tmp/pauses"
[ "$(cat "$tmp/pauses")" = "100 200 400 800 800 " ]
judge successor_of_a_worker_that_was_ready_comes_within_a_second
stop
pid=

# Workers sleep, so that a CPU may have several.
rm -f "$tmp/fail"
start --parts 3 --cpus 4-5
await at_least 6
for cpu in 4 5; do
	[ "$(grep -c -- "--cpu $cpu " "$tmp/started")" = 3 ] || echo "not three on CPU $cpu" >>"$tmp/err"
done
! grep -q "not three" "$tmp/err"
judge workers_take_the_cpus_in_turn
stop
pid=
FAKE_WINDOWS=2 "$sup" --device /dev/null --worker "$tmp/worker" --backend b --parts 256 \
	--cpus 1-5 2>"$tmp/err"
[ $? = 1 ] && grep -q "512 workers, of 511 at most, on 5 CPUs" "$tmp/err"
judge too_many_workers_are_an_error

# Limits: each window is a tenant, and its workers are told the tenant's files.
limits_of() { # window: memory, percent, policy, groups of device 0
	/usr/bin/python3 -c 'import struct, sys
print(*struct.unpack_from("<QIIQ", open(sys.argv[1], "rb").read(), 128))' "$tmp/t/window$1.limits"
}
rm -f "$tmp/fail"
start --cpus 3-4 --limit 0:mem=64M,sm=30 --limit 1:sm=50,policy=spatial
await at_least 2
grep -e '--window 1 ' "$tmp/started" | grep -q -e "--tenant $tmp/t/window1 --account 0\$"
judge workers_are_told_their_tenant
[ "$(limits_of 0)" = "67108864 30 1 0" ]
judge limits_of_a_window_are_its_tenants
[ "$(limits_of 1)" = "0 50 2 255" ]
judge spatial_limit_has_groups_of_the_devices
[ -s "$tmp/t/turns/seats/board" ]
judge board_of_the_turns_is_there
# A worker has the account of its part, whatever it writes there.
account() { # [WORD]: the owner of window 0's first account, and what it has counted
	/usr/bin/python3 -c 'import struct, sys
f = open(sys.argv[1], "r+b")
f.seek(4032)
if len(sys.argv) > 2:
    f.write(struct.pack("<I", 1))
    f.seek(4032 + 24)
    f.write(struct.pack("<Q", int(sys.argv[2])))
else:
    print(struct.unpack("<I20xQ", f.read(32)))' "$tmp/t/window0.usage" "$@"
}
w=$(sed -n '/--window 0 /s/ .*//p' "$tmp/started")
[ "$(account)" = "($w, 0)" ]
judge worker_has_the_account_of_its_part
account 77
await ready "$w"
kill -9 "$w"
await at_least 3
w=$(tail -n 1 "$tmp/started" | cut -d' ' -f1)
await eval '[ "$(account)" = "($w, 0)" ]'
judge next_one_begins_with_an_empty_one
stop
pid=

refused() { # NAME WORDS OPTIONS...
	name=$1 words=$2
	shift 2
	FAKE_WINDOWS=2 "$sup" --device /dev/null --worker "$tmp/worker" --backend b --cpus 1-2 \
		--tenants "$tmp/t" "$@" 2>"$tmp/err"
	[ $? != 0 ] && grep -q -e "$words" "$tmp/err"
	judge "$name"
}
refused limit_of_no_window_is_refused "no window 5" --limit 5:mem=1G
refused spatial_limits_beyond_the_device_are_refused "window 1: device 0: 60 % of its SMs are 10 of 16 groups" \
	--limit 0:sm=60,policy=spatial --limit 1:sm=60,policy=spatial
refused more_workers_than_a_tenant_has_have_no_limits "has 64 workers at most" \
	--limit 0:mem=1G --windows 1 --parts 65
FAKE_ERROR="no device" refused driver_that_does_not_start_serves_nobody "no device"

# --- A cgroup for each worker, where this machine has one ---------------------------

cgroup() { sed -n 's/^info: each worker has [0-9]* MiB of memory, by cgroup //p' "$tmp/err"; }
# limit_of WORKER prints the bytes, in version 2 and version 1.
limit_of() {
	cat "$group/t-worker$1/memory.max" 2>/dev/null || cat "$group/t-worker$1/memory.limit_in_bytes"
}
say_to() { await ready "$1" && echo "$2" >"$tmp/wait.$1"; }
points="worker_has_a_cgroup_of_its_own it_has_its_part_of_the_memory
	more_than_that_is_not_to_be_had what_it_forked_ends_with_it its_successor_has_a_cgroup_again
	its_neighbour_lives_on cgroups_go_with_the_supervisor"
if [ "$(id -u)" = 0 ]; then
	FAKE_WINDOWS=1 unshare -m sh -c 'umount -R /sys/fs/cgroup; exec "$@"' sh "$sup" --nvml none \
		--tenants "$tmp/t" --device /dev/null --worker "$tmp/worker" --backend b --cpus 3 2>"$tmp/err" &
	pid=$!
	await grep -q "^warn: .*only the VM's memory bounds what a worker takes of it" "$tmp/err"
	judge without_cgroups_it_says_so
	stop
else
	skip without_cgroups_it_says_so "needs root"
fi
start --windows 1 --parts 2 --cpus 3-4 --memory 16777216
await at_least 2
group=$(cgroup)
if [ -z "$group" ]; then
	for p in $points; do skip "$p" "no cgroup is writable"; done
	stop
	pid=
	finish
fi
w=$(sed -n '/--part 1 /s/ .*//p' "$tmp/started")
neighbour=$(sed -n '/--part 0 /s/ .*//p' "$tmp/started")
grep -q -x "$w" "$group/t-worker1/cgroup.procs" && ! grep -q -x "$neighbour" "$group/t-worker1/cgroup.procs"
judge worker_has_a_cgroup_of_its_own
[ "$(limit_of 1)" = 16777216 ]
judge it_has_its_part_of_the_memory
say_to "$w" eat
await test -s "$tmp/ate.$w" && [ "$(cat "$tmp/ate.$w")" != 0 ]
judge more_than_that_is_not_to_be_had
say_to "$w" fork
await test -s "$tmp/left.$w"
say_to "$w" 0
await at_least 3 && await gone "$(cat "$tmp/left.$w")"
judge what_it_forked_ends_with_it
w=$(tail -n 1 "$tmp/started" | cut -d' ' -f1)
grep -q -x "$w" "$group/t-worker1/cgroup.procs"
judge its_successor_has_a_cgroup_again
kill -0 "$neighbour" && grep -q -x "$neighbour" "$group/t-worker0/cgroup.procs"
judge its_neighbour_lives_on
stop
pid=
[ ! -e "$group" ]
judge cgroups_go_with_the_supervisor
finish
