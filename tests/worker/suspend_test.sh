#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that `wormhole suspend` takes a window of a server VM off its devices while its
# client waits in its own VM and another window has the memory, that `wormhole resume` lets it go on
# as if nothing had been, and that no end of a process meanwhile, no client and no full device loses
# or holds up anything silently. Command,
# supervisor and workers are real, and softgpu is the driver; role, device and port are stand-ins,
# and the client is inside the worker (played_worker.c).
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../..
: "${WH_TOP:=$build/..}"
. "$WH_TOP/tests/worker/lib.sh"
export tmp here build FAKE_RUN="$tmp/run" WORMHOLE_DIR="$tmp/nothing" FAKE_CLIENT="$tmp/client" \
	WORMHOLE_SOFTGPU_MEM=64M FAKE_MEMORY=$((1 << 60))
says() { grep -q -e "$1" "$tmp/err"; }

points=57
if [ "$(id -u)" != 0 ]; then
	plan $points
	while [ "$tap_run" -lt $points ]; do
		tap_run=$((tap_run + 1))
		echo "ok $tap_run # SKIP needs root to lock memory"
	done
	finish
fi

# Each window's part is a file that looks like the device (worker_test.sh).
for window in 0 1; do
	mkfifo "$tmp/client.$window.in"
	truncate -s 8M "$tmp/device.$window"
	dd if="$build/trampoline/page.bin" of="$tmp/device.$window" bs=4096 seek=268435456 conv=notrunc 2>/dev/null
done
cat >"$tmp/worker" <<'END'
#!/bin/sh
case "$*" in
*--devices*) exec "$here/devices.py" "${*##* }" ;;
*--checkpoint*)
	echo $$ >"$tmp/asks"
	exec "$build/server/wormhole-worker" "$@" ;;
esac
window=$(echo "$*" | sed 's/.*--window \([0-9]*\).*/\1/')
exec "$here/played_worker" "$@" --device "$tmp/device.$window" --heap 1M --stack 1M --slots 2
END
chmod +x "$tmp/worker"

server_vm 1 gpu0
cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
launch() { # OPTION...
	rm -f "$tmp"/client.*.out
	FAKE_WINDOWS=2 "$here/fake_supervisor" --device /dev/null --worker "$tmp/worker" --nvml none \
		--backend "$build/softgpu/libcuda.so.1" --cpus "$cpu" --tenants "$tmp/t" --channel "$tmp/port" \
		"$@" 2>"$tmp/err" &
	sup=$!
	pids="$pids $sup"
}
start() { launch "$@"; await answered 0 ready && await answered 1 ready; }

field() { # WINDOW EXPRESSION: Python, with the tenant of `stat --json` in t and its device in d
	wormhole stat --json "1/window$1" | /usr/bin/python3 -c \
		"import json,sys; t=json.load(sys.stdin)[0]; d=t['devices'][0]; print(($2))"
}
state() { field "$1" "t['state']"; }
state_is() { [ "$(state "$1")" = "$2" ]; }
worker() { field "$1" "t['workers'][0]['pid']"; }
# said WINDOW: what the client of the window's last worker has said, without the worker's number.
said() { awk '{ if ($1 != pid) all = ""; pid = $1; $1 = ""; all = all $0 ";" } END { print all }' "$tmp/client.$1.out"; }
answered() { [ -e "$tmp/client.$1.out" ] && said "$1" | grep -q " $2[^;]*;\$"; }
checked() { [ "$(said "$1" | grep -o ' ok' | wc -l)" -ge "$2" ]; }	# so often
word() { echo "$2" >"$tmp/client.$1.in"; }
metric() { wormhole metrics | sed -n "s/^wormhole_$1{tenant=\"1\/window0\".*} //p"; }
requests() { field 0 "t['workers'][0]['waited']"; }
suspend() { wormhole suspend "1/window$1" 2>&1; }
resume() { wormhole resume "1/window$1" 2>&1; }

plan $points
start
at=$(said 0 | sed 's/.* ready \([0-9a-f]*\);/\1/')
is a_window_runs_at_first "$(state 0)" running
is it_is_suspended "$(suspend 0)" ""
is it_says_so "$(state 0)" suspended
like its_log_says_so "$(cat "$tmp/err")" "^info: tenant window0 is suspended"
is it_has_nothing_of_the_device "$(field 0 "d['memory'], t['workers'][0]['devices'][0]['memory']")" "(0, 0)"
is what_it_has_is_in_memory_of_its_vm "$(field 0 "t['suspended_memory'] >= 8 << 20")" True
is top_says_so "$(wormhole top --once --json | grep -c '"state":	"suspended"')" 1
is metrics_say_so "$(metric suspended) $([ "$(metric suspended_memory_bytes)" -ge 8388608 ] && echo so)" "1 so"
like a_second_suspension_is_an_error "$(suspend 0)" "1/window0: it is suspended already; .wormhole resume"
word 0 check
ok its_client_is_told_to_come_again await answered 0 waits
word 1 check
ok another_window_goes_on await answered 1 ok
is its_client_has_not_gone_on "$(said 0)" " ready $at; waits;"
# A look takes long on a busy machine, so the time from the first one's begin to the last one's end
# counts.
began=$(date +%s%N)
before=$(requests)
sleep 1
after=$(requests)
most=$(((($(date +%s%N) - began) / 1000000 + 200) / 10))
came=$((after - before))
ok and_comes_so_a_hundred_times_a_second_at_most [ $came -gt 0 -a $came -le $most ]
ok a_limit_reaches_it_meanwhile wormhole limit 1/window0 --mem 32M
is but_does_not_wake_it "$(state 0) $(said 0)" "suspended  ready $at; waits;"
is it_is_resumed "$(resume 0)" ""
ok its_client_goes_on await answered 0 ok
is with_the_same_bytes_at_the_same_address "$(said 0)" " ready $at; waits; ok $at;"
is its_memory_is_on_the_device_again "$(field 0 "d['memory'] >= 8 << 20, t['suspended_memory'], t['state']")" \
	"(True, 0, 'running')"
is so_do_metrics "$(metric suspended) $(metric suspended_memory_bytes)" "0 0"
like a_second_resumption_is_an_error "$(resume 0)" "1/window0: it is not suspended: it is running"
like a_window_that_is_not_there_is_an_error "$(suspend 7)" "1/window7: there is no window 7, but 0 to 1"
like swap_is_refused "$(wormhole suspend 1/window0 --to swap 2>&1)" "1/window0: --to: a server VM has no swap"
like so_is_a_move "$(wormhole move 1/window0 --to 1 2>&1)" "1/window0: a window of a server VM cannot be moved"
like so_is_a_vm_of_several_windows "$(wormhole suspend 1 2>&1)" "has 2 windows: name one, such as 1/window0"
is nothing_is_left_of_the_questions "$(pgrep -c -P $sup -f -- --checkpoint)" 0

# At any moment of its client's calls.
errors=0
for n in $(seq 2 9); do
	word 0 check
	sleep "0.0$(($(od -An -N1 -tu1 /dev/urandom) % 40))"
	suspend 0 >"$tmp/said" && resume 0 >>"$tmp/said" || errors=$((errors + 1))
	await checked 0 "$n"
done
is it_is_suspended_at_8_moments "$errors" 0
is and_its_bytes_are_the_same "$(said 0 | sed "s/ ready $at;//; s/ waits;//g; s/ ok $at;//g")" ""

# Its client's VM does not run any more in the middle of a call.
word 0 stuck
await answered 0 stuck
like a_call_that_does_not_end_is_an_error "$(wormhole suspend 1/window0 --wait 300ms 2>&1)" \
	"1/window0: worker [0-9]*: its calls have not ended in time: .*say a longer --wait"
is and_it_runs_on "$(state 0)" running
rm -f "$tmp/asks"
suspend 0 >"$tmp/lost" &
asking=$!
await test -s "$tmp/asks"
is on_its_way_it_says_so "$(state 0)" suspending
like what_it_waits_for_is_no_other_request "$(resume 0)" "it is not suspended: it is suspending"
kill -9 "$(cat "$tmp/asks")"
wait $asking
like who_asks_may_be_killed "$(cat "$tmp/lost")" "ended without an answer; it goes on"
ok and_it_runs_again await state_is 0 running
word 0 moves
await answered 0 moves
word 0 check
ok so_does_its_client await answered 0 ok

# What a worker says that it has is more than the VM has memory.
word 0 "claim $((1 << 50))"
await answered 0 claims
like what_the_vm_has_no_memory_for_is_refused "$(suspend 0)" \
	"1/window0: [0-9]* MiB are to come from its devices, and the server VM has [0-9]* MiB of memory free"
is and_runs_on_too "$(state 0)" running
word 0 "claim -$((1 << 50))"
await answered 0 claims

# Workers and clients end meanwhile. The claim may not be taken back yet.
suspends() { [ -z "$(suspend 0)" ]; }
await suspends
w=$(worker 0)
kill -9 "$w"
new_worker() { [ "$(worker 0)" != "$w" ] && answered 0 waits; }
ok the_next_worker_s_client_waits_too await new_worker
is the_window_stays_suspended "$(state 0)" suspended
is and_is_resumed "$(resume 0)" ""
ok that_client_goes_on await answered 0 ready
suspend 0
kill -9 "$(worker 0)" "$(worker 1)"
is one_whose_worker_has_just_ended_is_resumed "$(resume 0; state 0)" running
ok and_its_next_client_goes_on await answered 0 ready

# The supervisor ends while a window is suspended, and with it all that it started.
suspend 0
all="$(worker 0) $(worker 1)"
kill -TERM $sup
wait $sup
left=
for p in $all; do ! kill -0 "$p" 2>/dev/null || left="$left $p"; done
is the_end_of_the_supervisor_ends_all "$left" ""

# Each worker has a part of the VM's memory, and more while what it has is not on a device.
part=$((256 << 20))
start --memory $part
group=$(sed -n 's/^info: each worker has [0-9]* MiB of memory, by cgroup //p' "$tmp/err")
of_group() { cat "$group/t-worker0/$1" 2>/dev/null || cat "$group/t-worker0/$2"; } # FILE FILE-OF-VERSION-1
bound() { of_group memory.max memory.limit_in_bytes; }
used() { of_group memory.current memory.usage_in_bytes; }
claims() { [ "$(said 0 | grep -o claims | wc -l)" = "$1" ]; } # so often
bound_is() { [ "$(bound)" = "$1" ]; }
if [ -n "$group" ]; then
	word 0 "claim $((48 << 20))"
	await claims 1
	suspend 0
	ok its_part_of_the_memory_is_larger_while_it_is_suspended [ "$(bound)" -ge $((part + (48 << 20))) ]
	word 0 "claim -$((48 << 20))"
	await claims 2
	more=$(bound)
	word 0 "fill $((part + (24 << 20) - $(used)))"
	ok its_worker_may_fill_it await answered 0 filled
	is resumed_it_keeps_what_it_has "$(resume 0) $(state 0) $(bound)" " running $more"
	word 0 empty
	ok and_has_its_part_again_once_it_uses_no_more await bound_is $part
else
	for p in its_part_of_the_memory_is_larger_while_it_is_suspended its_worker_may_fill_it resumed_it_keeps_what_it_has \
		 and_has_its_part_again_once_it_uses_no_more; do
		skip $p "no cgroup is writable"
	done
fi
kill -TERM $sup
wait $sup

# A device that has its memory once for all windows, and not for two clients.
export WORMHOLE_SOFTGPU_MEM=12M WORMHOLE_SOFTGPU_BIND=1 WORMHOLE_SOFTGPU_BOOKS="$tmp/books"
launch
one_is_ready() { answered 0 ready && one=0 other=1 || { answered 1 ready && one=1 other=0; }; }
was_refused() { grep -q " result 2$" "$tmp/client.$1.out"; }	# CUDA_ERROR_OUT_OF_MEMORY
await one_is_ready
ok a_full_device_has_no_room_for_another_window await was_refused $other
suspend $one
ok which_has_the_memory_of_one_that_is_suspended await answered $other ready
like so_that_one_is_not_resumed "$(resume $one)" \
	"^wormhole: error: 1/window$one: .*CUDA_ERROR_OUT_OF_MEMORY"
is and_stays_suspended "$(state $one)" suspended
word $other check
ok while_the_other_goes_on await answered $other ok
suspend $other
is it_is_resumed_when_the_other_has_left "$(resume $one; state $one)" running
word $one check
ok and_has_all_its_bytes await answered $one ok
kill -TERM $sup
wait $sup

# A VM that was taken over.
note_vm 2 1 $$ gpu1
for kind in short failed; do
	"$here/hostile_vm.py" "$tmp/run/2.control" $kind &
	pids="$pids $!"
	await test -S "$tmp/run/2.control"
	wormhole suspend 2/window0 >"$tmp/said.$kind" 2>&1
	kill $!
	rm "$tmp/run/2.control"
done
like an_answer_that_makes_no_sense_is_an_error "$(cat "$tmp/said.short")" "2/window0: the answer of the server VM makes no sense"
is its_reason_shows_no_control_characters "$(tr -d '?' <"$tmp/said.failed" | cut -c1-34)" "wormhole: error: 2/window0: [2Jno"
finish
