#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the host's command and the supervisor of a server VM agree: windows are
# tenants whose limits change and whose figures are seen from the host, and the driver's own
# figures decide. Both programs are real; role, device, port and NVML are stand-ins. It runs on
# any machine.
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../..
: "${WH_TOP:=$build/..}"
. "$WH_TOP/tests/worker/lib.sh"
export tmp here build FAKE_RUN="$tmp/run" WORMHOLE_DIR="$tmp/nothing" FAKE_NVML="$tmp/figures" \
	FAKE_NVML_CRASH="$tmp/crash" FAKE_NVML_UUID=GPU-776f726d-686f-6c65-2d73-6f6674677075
M=1048576
says() { grep -q -e "$1" "$tmp/err"; }

cat >"$tmp/worker" <<'END'
#!/bin/sh
case "$*" in
*--devices*) exec "$here/devices.py" "${*##* }" ;;
*--figures*) exec "$build/server/wormhole-worker" "$@" ;;
esac
mkfifo "$tmp/wait.$$"
echo "$$ $*" >>"$tmp/started"
while :; do
	read -r word <"$tmp/wait.$$" || continue
	case $word in burn) i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done ;; rest) : >"$tmp/rested.$$" ;; *) exit "$word" ;; esac
done
END
chmod +x "$tmp/worker"
worker() { sed -n "/--window $1 /s/ .*//p" "$tmp/started" | tail -n 1; }
has_worker() { [ -n "$(worker "$1")" ] && [ "$(worker "$1")" != "${2:-}" ]; }

server_vm 1 gpu0
start() { # WINDOWS OPTION...
	windows=$1
	shift
	FAKE_WINDOWS=$windows "$here/fake_supervisor" --device /dev/null --worker "$tmp/worker" --backend b \
		--cpus 3 --tenants "$tmp/t" --channel "$tmp/port" "$@" 2>"$tmp/err" &
	sup=$!
	pids="$pids $sup"
}

# field WINDOW EXPRESSION evaluates Python with the tenant's object of `stat --json` in t, and its
# device in d.
field() {
	wormhole stat --json "1/window$1" | /usr/bin/python3 -c \
		"import json,sys; t=json.load(sys.stdin)[0]; d=t['devices'][0]; print(($2))"
}
field_is() { [ "$(field "$1" "$2")" = "$3" ]; }
limits() { field "$1" "d['memory_limit'], d['sm_percent'], d['sm_policy'], d['sm_groups']"; }
# most prints a window's ceiling and class, and the board's classes of the first windows.
most() {
	field "$1" "d['sm_max_percent'], d['priority']"
	/usr/bin/python3 -c 'import sys
b = open(sys.argv[1], "rb").read()[64 + 256 * 24:]
print(*({0: "normal", 1: "high", 2: "low"}[b[i * 16]] for i in range(2)))' "$tmp/t/turns/seats/board"
}
# shares prints what others know of the first windows' shares of the first device: the board's
# seats.
shares() {
	/usr/bin/python3 -c 'import struct, sys
b = open(sys.argv[1], "rb").read()
print(b[64 + 8], b[64 + 24 + 8])' "$tmp/t/turns/seats/board"
}

plan 64
: >"$FAKE_NVML"
start 2 --nvml "$build/tests/tenant/bin/fake_nvml.so" --slack $((16 * M)) --limit 1:sm=40,sm-max=none,priority=high
await has_worker 1
is each_window_is_a_tenant "$(wormhole stat --json | /usr/bin/python3 -c 'import json, sys
print([(t["tenant"], t["vm"], t["window"], len(t["devices"])) for t in json.load(sys.stdin) if "tenant" in t])')" \
	"[('1/window0', 1, 0, 1), ('1/window1', 1, 1, 1)]"
is limits_of_the_start_are_shown "$(limits 0) $(limits 1)" "(0, 100, 'none', 0) (0, 40, 'temporal', 0)"
is its_workers_are_there "$(field 0 "len(t['workers']), t['workers'][0]['pid']")" "(1, $(worker 0))"
is so_are_a_ceiling_and_a_class "$(most 1)" "(100, 'high')
normal high"
ok limit_reaches_a_window wormhole limit 1/window0 --mem 64M --sm 30
is and_is_shown "$(limits 0)" "($((64 * M)), 30, 'temporal', 0)"
is its_workers_have_it "$(/usr/bin/python3 -c 'import struct, sys
print(*struct.unpack_from("<QII", open(sys.argv[1], "rb").read(), 128))' "$tmp/t/window0.limits")" "$((64 * M)) 30 1"
is and_others_turns_know_of_it "$(shares)" "30 40"
ok so_do_a_ceiling_and_a_class wormhole limit 1/window0 --sm-max 60 --priority low
is and_others_turns_know_of_the_class "$(most 0)" "(60, 'low')
low high"
wormhole limit 1/window0 --sm 35
is a_new_share_keeps_both "$(limits 0) $(most 0)" "($((64 * M)), 35, 'temporal', 0) (60, 'low')
low high"
like a_ceiling_below_the_share_is_refused "$(wormhole limit 1/window0 --sm-max 20 2>&1)" \
	"1/window0: device 0: a ceiling of 20 % is below the share of 35 %"
like and_another_class "$(wormhole limit 1/window0 --priority urgent 2>&1)" "'urgent' is neither low, normal nor high"
wormhole limit 1/window0 --device 0:sm=30,sm-max=hard,priority=normal
is a_device_may_have_its_own "$(limits 0) $(most 0)" "($((64 * M)), 30, 'temporal', 0) (30, 'normal')
normal high"
wormhole limit 1/0 --mem 50%
is a_percentage_is_of_the_servers_device "$(limits 0)" "($((8192 * M)), 30, 'temporal', 0)"
wormhole limit 1/0 --mem 80M
is what_is_not_said_stays "$(limits 0)" "($((80 * M)), 30, 'temporal', 0)"
wormhole limit 1/window0 --sm none
is a_share_is_taken_back "$(limits 0) $(shares)" "($((80 * M)), 100, 'none', 0) 0 40"
wormhole limit 1/window0 --sm 50 --sm-policy spatial
is a_spatial_one_has_groups_of_the_device "$(limits 0)" "($((80 * M)), 50, 'spatial', 8)"
like more_than_is_left_is_refused "$(wormhole limit 1/window1 --sm 60 --sm-policy spatial 2>&1)" \
	"1/window1: device 0: 60 % of its SMs are 10 of 16 groups of 8 SMs, but other tenants have 8"
is and_changes_nothing "$(limits 1)" "(0, 40, 'temporal', 0)"
like a_device_that_is_not_there_is_named "$(wormhole limit 1/window0 --device 3:mem=1G 2>&1)" "devices 0 to 0"
like so_is_a_window "$(wormhole limit 1/window2 --mem 1G 2>&1)" "there is no window 2, but 0 to 1"
like a_vm_of_several_windows_is_not_enough "$(wormhole limit 1 --mem 1G 2>&1)" "has 2 windows: name one, such as 1/window0"
like a_vm_that_is_not_there_is_a_failure "$(wormhole limit 9/window0 --mem 1G 2>&1; echo $?)" "^1$"
like what_no_window_has_is_refused "$(wormhole limit 1/window0 --host-mem 1G 2>&1)" "neither --host-mem, --max-kernel nor --nccl"
like stat_names_a_window_that_is_not_there "$(wormhole stat 1/window7 2>&1)" "no window 7, but 2 of them"
like metrics_has_them "$(wormhole metrics)" '^wormhole_memory_limit_bytes{tenant="1/window0",user="",device="0"} '$((80 * M))
like top_has_them "$(COLUMNS=120 wormhole top --once --delay 0.1)" '^1/window1 .* 40%'
COLUMNS=400 wormhole top --once --delay 0.1 >"$tmp/top"
is with_ceiling_and_class_as_of_programs "$(awk '$1 == "TENANT" { for (i = 1; i <= NF; i++) n[$i] = i }
	$1 == "1/window1" { print $n["ASKED"], $n["MAX"], $n["CLASS"] }' "$tmp/top")" "40% none high"
is and_a_figure_in_each_column "$(awk '$1 == "TENANT" { n = NF } $1 ~ "^1/window" { print NF - n }' "$tmp/top")" "0
0"
like metrics_has_their_class "$(wormhole metrics)" \
	'^wormhole_sm_class{tenant="1/window1",user="",device="0",class="high"} 1$'
is and_their_cpu_time "$(wormhole metrics | grep -c '^wormhole_cpu_seconds_total{tenant="1/window[01]",user=""} [0-9]')" 2
for command in "tenant_delete deleted" "trace traced"; do
	verb=${command% *}
	out=$(wormhole $(echo "$verb" | tr _ ' ') 1/window0 $([ "$verb" != trace ] || echo true) 2>&1)
	like "${verb}_of_a_window_is_refused_by_name" "$? $out" "^1 .*1/window0: a window of a server VM cannot be ${command#* }"
done

# Clients may come and go, or send what makes no sense: the next client is served.
talk() { # PYTHON: with c, which is connected, and request(what, version)
	/usr/bin/python3 -c 'import os, socket, struct, sys
c = socket.socket(socket.AF_UNIX)
c.settimeout(10)
c.connect(sys.argv[1])
def request(what, version=4 << 16 | 8, size=0, magic=0x4e4e414843544857, nonce=7):
    return struct.pack("<QQIIII", magic, nonce, version, what, 0, size)
def answer():
    h = struct.unpack("<QQIIII", c.recv(32, socket.MSG_WAITALL))
    return h[1], c.recv(h[5], socket.MSG_WAITALL)
def refusal():
    return answer()[1].decode()
exec(sys.argv[2])' "$tmp/run/1.control" "$1"
}
talk 'c.send(request(1))'
is who_does_not_wait_for_his_answer_is_forgotten "$(limits 1)" "(0, 40, 'temporal', 0)"
is nor_is_the_next_one_whose_request_comes_with_his "$(talk 'c.send(request(1) + request(9, nonce=8))
while answer()[0] != 8:
    pass
print("heard")')" heard
talk 'c.send(os.urandom(100000))'
is noise_is_no_request "$(limits 1)" "(0, 40, 'temporal', 0)"
is another_release_is_told_so "$(talk 'c.send(request(1, 5)); print(refusal())')" \
	"the server VM is of another release of Wormhole"
is an_unknown_request_too "$(talk 'c.send(request(9)); print(refusal())')" "the server VM knows no such request"
is so_is_a_limit_of_another_size "$(talk 'c.send(request(2, size=1 << 31)); print(refusal())')" \
	"the server VM is of another release of Wormhole"
is a_limit_of_nonsense_is_refused "$(talk 'c.send(request(2, size=8 + 17 * 32) +
	struct.pack("<IIiIQIIII", 0, 1, 0, 2, 0, 1000, 9, 0, 0) + bytes(16 * 32)); print(refusal())')" \
	"the request makes no sense: it is of another release"
for bad in '16, 0, 0, 0, 101, 0' '32, 0, 0, 0, 0, 3'; do
	is a_ceiling_or_a_class_of_nonsense_is_too "$(talk "c.send(request(2, size=8 + 17 * 32) +
	struct.pack('<IIiIQIIII', 0, 1, 0, $bad) + bytes(16 * 32)); print(refusal())")" \
		"the request makes no sense: it is of another release"
done

is so_is_a_suspension_of_nonsense "$(talk 'c.send(request(3, size=16) + struct.pack("<IIII", 0, 2, 0, 0)); print(refusal())')" \
	"the request makes no sense: it is of another release"
is or_of_no_window "$(talk 'c.send(request(4, size=8) + struct.pack("<II", 2, 0)); print(refusal())')" \
	"there is no window 2, but 0 to 1"

# figures LINE... sets the driver's figures. A worker takes memory through its kernel, which costs
# CPU time of this VM.
figures() {
	printf '%s\n' "$@" >"$tmp/new"
	mv "$tmp/new" "$FAKE_NVML"
}
run() { await test -p "$tmp/wait.$(worker "$1")" && echo burn >"$tmp/wait.$(worker "$1")"; }
w=$(worker 0)
figures "$w $((96 * M)) 0" "$(worker 1) $((900 * M)) 0"
run 0
ok figure_of_the_driver_is_shown await field_is 0 "d['memory_driver']" $((96 * M))
is limit_and_slack_may_be_used "$(worker 0)" "$w"
run 0
figures "$w $((96 * M + 1)) 0" "$(worker 1) $((900 * M)) 0"
ok worker_beyond_its_limit_is_stopped await has_worker 0 "$w"
like and_the_log_says_why "$(cat "$tmp/err")" \
	"tenant window0: worker $w stopped: on device 0 the driver counts $((96 * M + 1)) bytes for the tenant, its limit is $((80 * M))"
w=$(worker 1)
wormhole limit 1/window1 --mem 512M
figures "$(worker 0) $M 0" "$w $((899 * M)) 0"
run 1
await field_is 1 "d['memory_driver']" $((899 * M))
is lower_limit_ends_nobody_for_what_is_there "$(worker 1)" "$w"
figures "$(worker 0) $M 0" "$w $((915 * M + 1)) 0"
ok but_for_what_comes_then await has_worker 1 "$w"

# While no worker runs nobody is asked: the reader would die of it.
figures "$(worker 0) $M 0"
await field_is 0 "d['memory_driver']" $M
for window in 0 1; do
	w=$(worker $window)
	await test -p "$tmp/wait.$w" && echo rest >"$tmp/wait.$w"
	await test -e "$tmp/rested.$w"
done
sleep 3
: >"$FAKE_NVML_CRASH"
sleep 1.5
ok nobody_is_asked_while_no_worker_runs test -e "$FAKE_NVML_CRASH"
run 0
ok and_somebody_once_one_does await says "reads NVML ended"
figures "$(worker 0) $((33 * M)) 0"
run 0
ok another_reader_goes_on await field_is 0 "d['memory_driver']" $((33 * M))
kill -TERM $sup
wait $sup

# There is one window, so the VM's number names it. Then comes a VM that was taken over.
start 1 --nvml none --limit 0:mem=1G
await eval '[ "$(limits 0)" = "('$((1024 * M))', 100, '"'none'"', 0)" ]'
wormhole limit 1 --sm 25
is only_window_of_a_vm_needs_no_name "$(limits 0)" "($((1024 * M)), 25, 'temporal', 0)"

# The command waits for a server VM that is busy, and tells a terminal so.
kill -STOP $sup
script -qefc "LD_PRELOAD=$build/tests/cli/fake_control.so $build/host/wormhole limit 1 --sm 35" "$tmp/typed" \
	</dev/null >/dev/null &
patient=$!
ok at_a_terminal_one_is_told_of_the_wait await grep -q '1: the server VM is busy; it is waited for, 20 s at most' "$tmp/typed"
kill -CONT $sup
wait $patient
is and_the_answer_counts_when_it_comes "$? $(limits 0)" "0 ($((1024 * M)), 35, 'temporal', 0)"
kill -STOP $sup
wormhole limit 1/window0 --timeout 3 --mem 2G 2>"$tmp/said"
is who_says_how_long_waits_no_longer "$? $(cat "$tmp/said")" \
	"1 wormhole: error: 1/window0: the supervisor in the server VM does not answer within 3 s"
like so_does_a_look "$(wormhole stat --timeout 1 1/window0 2>&1)" "does not answer within 1 s"
like the_time_is_at_least_a_second "$(wormhole limit --timeout 0 1 --mem 1G 2>&1)" "timeout: '0' is not a number from 1 to"
kill -TERM $sup
kill -CONT $sup
wait $sup
wrong=
note_vm 2 1 $$ gpu1
for kind in noise large short breaks_off windows workers; do
	"$here/hostile_vm.py" "$tmp/run/2.control" $kind &
	hostile=$!
	pids="$pids $hostile"
	await test -S "$tmp/run/2.control"
	timeout 20 sh -c 'LD_PRELOAD=$1 $2 stat --timeout 2 2/window0' sh "$build/tests/cli/fake_control.so" "$build/host/wormhole" \
		>"$tmp/out" 2>&1
	[ $? = 1 ] && grep -q 'error: 2/window0: ' "$tmp/out" || wrong="$wrong $kind"
	kill $hostile
	rm "$tmp/run/2.control"
done
is what_makes_no_sense_is_a_failure_of_that_vm "$wrong" ""
tell() {
	"$here/hostile_vm.py" "$tmp/run/2.control" "$1" &
	pids="$pids $!"
	await test -S "$tmp/run/2.control"
	wormhole limit 2/window0 --mem 1G 2>&1
	kill $!
	rm "$tmp/run/2.control"
}
is a_refusal_shows_no_control_characters "$(tell words | tr -d '?' | cut -c1-34)" "wormhole: error: 2/window0: [2Jno"
is an_answer_behind_another_ones_rest_is_found "$(tell late)" "wormhole: error: 2/window0: late"
wormhole stat --json 2>"$tmp/said" >"$tmp/out"
like a_vm_that_does_not_answer_is_named "$(cat "$tmp/said")" 'warn: VM 1: the supervisor in the server VM does not answer'
finish
