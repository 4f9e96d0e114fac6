#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that `wormhole suspend` takes a tenant off its devices while its programs wait,
# that `wormhole resume` lets them go on as if nothing had been, and that neither of them, nor the end
# of any process meanwhile, loses anything silently.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/tenant/suspended.sh"

cpu_of() { cat "/proc/$1/stat" "/proc/$2/stat" | sed 's/.*) //' | awk '{ n += $12 + $13 } END { print n }'; }

plan 66
serve

# One program.
"$wormhole" tenant create a --mem 64M
start x --tenant a -- alloc=4194304 ready line copy=65536 launch=50 copy=65536
is a_tenant_runs_at_first "$(state a)" running
is a_tenant_is_suspended "$(suspend a)" ""
is it_says_so "$(state a)" suspended
like the_table_says_so "$("$wormhole" stat a)" "STATE"
is top_says_so "$("$wormhole" top --once --json | grep -c '"state":	"suspended"')" 1
is it_has_nothing_of_the_device "$(field a "d['memory'], t['workers'][0]['devices'][0]['memory']")" "(0, 0)"
is what_it_has_is_in_memory_of_the_host "$(field a "t['suspended_memory'] >= 4194304")" True
metric() { "$wormhole" metrics | sed -n "s/^wormhole_$1{tenant=\"a\".*} //p"; }
is metrics_say_so "$(metric suspended) $([ "$(metric suspended_memory_bytes)" -ge 4194304 ] && echo so)" "1 so"
is its_quota_remains "$(field a "d['memory_limit']")" 67108864
like a_second_suspension_is_an_error "$(suspend a)" "tenant a is suspended already; .wormhole resume a"
go x
await asleep "$(client_of a)"
w=$(worker a)
before=$(cpu_of "$w" "$(pid x)")
sleep 2
after=$(cpu_of "$w" "$(pid x)")
is a_program_that_waits_takes_no_cpu "$((after - before <= 3)) of $after - $before" "1 of $after - $before"
is it_has_not_gone_on "$(said x)" "ok "
is a_tenant_is_resumed "$(resume a)" ""
await eval "[ \"\$(said x)\" = 'ok ok ok ok ' ]"
is its_program_goes_on "$(said x)" "ok ok ok ok "
is its_memory_is_on_the_device_again "$(field a "d['memory'] >= 4194304, t['suspended_memory'], t['state']")" \
	"(True, 0, 'running')"
is so_do_metrics "$(metric suspended) $(metric suspended_memory_bytes)" "0 0"
like a_second_resumption_is_an_error "$(resume a)" "tenant a is not suspended: it is running"
like a_tenant_that_does_not_exist_is_an_error "$(suspend none_such)" "there is no tenant 'none_such'"
like a_time_that_is_none_is_an_error "$(suspend a --wait soon)" "wait: 'soon' is not a time"

# Programs that start, and the server's own commands.
suspend a >/dev/null
like a_new_program_is_refused "$("$wormhole" run --tenant a -- "$client" alloc=4096 2>&1)" \
	"tenant a is suspended, and takes no new programs"
like one_that_connects_is_refused "$(WORMHOLE_SOCKET=$WORMHOLE_DIR/tenants/a.sock \
	LD_LIBRARY_PATH=$WH_BUILD/client-stubs "$client" alloc=4096 2>&1)" "tenant a is suspended"
like other_tenants_go_on "$("$wormhole" run --mem 16M -- "$client" alloc=4096 launch=5 2>&1)" "ok"
like stop_names_its_programs "$("$wormhole" stop 2>&1)" "1 program runs, of tenant a"
like a_stop_that_would_wait_for_them_is_refused "$("$wormhole" stop --when-idle 2>&1)" \
	"tenant a is suspended, so its programs do not end"
is drain_lists_them "$("$wormhole" drain | awk '$1 == "a" { print $2 }')" 1
"$wormhole" drain --off
resume a >/dev/null
finish_client x

fd=3

# A tenant without programs.
"$wormhole" tenant create empty
is a_tenant_without_programs_is_suspended "$(suspend empty; state empty)" suspended
like no_program_starts_there "$("$wormhole" run --tenant empty -- "$client" alloc=4096 2>&1)" "tenant empty is suspended"
resume empty
is until_it_is_resumed "$("$wormhole" run --tenant empty -- "$client" alloc=4096)" ok

# A worker whose program has called nothing yet.
/usr/bin/python3 - "$WORMHOLE_DIR/tenants/empty.sock" "$tmp/connected" >"$tmp/silent" 2>&1 <<'END' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.recv(4096)
open(sys.argv[2], "w").close()
s.recv(1)
END
silent=$!
await test -e "$tmp/connected"
is a_program_that_has_called_nothing_yet_is_no_obstacle "$(suspend empty; state empty; resume empty)" suspended
kill $silent

# The values of a run that nobody disturbs.
want=$("$wormhole" run --tenant a -- "$computes" 12000 | tail -n 1)
"$wormhole" run --tenant a -- "$computes" 12000 >"$tmp/disturbed" 2>&1 &
computing=$!
await grep -q began "$tmp/disturbed"
errors=0
for n in $(seq 20); do
	kill -0 $computing 2>/dev/null || break
	sleep "0.0$(($(od -An -N1 -tu1 /dev/urandom) % 90 + 10))"
	suspend a >"$tmp/said" && resume a >>"$tmp/said" || errors=$((errors + 1))
done
is a_tenant_is_suspended_at_20_moments "$n $errors" "20 0"
ok while_its_program_computes kill -0 $computing
wait $computing
is its_values_are_those_of_a_run_that_nobody_disturbs "$(tail -n 1 "$tmp/disturbed")" "$want"
"$wormhole" tenant create shared --mem 64M --sm 50
"$wormhole" run --tenant shared -- "$computes" 2000 >"$tmp/disturbed" 2>&1 &
computing=$!
await grep -q began "$tmp/disturbed"
for n in 1 2 3 4 5; do suspend shared && resume shared; done >"$tmp/said"
wait $computing
is also_with_a_share_of_the_time "$(cat "$tmp/said"; tail -n 1 "$tmp/disturbed")" \
	"$("$wormhole" run --tenant a -- "$computes" 2000 | tail -n 1)"

# Longer than a launch may hold a device.
"$wormhole" run --tenant shared -- "$computes" 12000 >"$tmp/disturbed" 2>&1 &
computing=$!
await grep -q began "$tmp/disturbed"
suspend shared
before=$(field shared "d['gpu_ns']")
sleep 3
after=$(field shared "d['gpu_ns']")
resume shared
wait $computing
is a_long_suspension_ends_no_program "$(tail -n 1 "$tmp/disturbed")" "$want"
ok and_is_no_time_of_the_device [ $((after - before)) -lt 1000000000 ]

# Several programs: all or none.
start x --tenant a -- alloc=4194304 ready line copy=65536
start y --tenant a -- alloc=1048576 ready line copy=65536
is all_programs_of_a_tenant_are_suspended "$(suspend a; field a "t['suspended_memory'] >= 5242880, d['memory']")" "(True, 0)"
resume a
start z --tenant a -- alloc=65536 "export=$tmp/handle" ready line copy=65536
sharer=$(pid z)
said=$(suspend a)
like one_that_shares_memory_refuses_it "$said" "CUDA_ERROR_NOT_SUPPORTED (801)"
like the_error_names_it "$said" "worker [0-9]* of program $sharer: cuCheckpointProcessCheckpoint"
is the_others_are_resumed "$(state a)" running
finish_client z
next x
next y
is and_go_on "$(said x)$(said y)" "ok ok ok ok "
finish_client x
finish_client y

fd=3

# A worker that does not come to rest.
start x --tenant a -- alloc=1048576 ready line copy=65536
w=$(worker a)
halt "$w"
like a_suspension_gives_up_in_time "$(suspend a --wait 200ms)" "its calls have not ended in time"
kill -CONT "$w"
is then_the_tenant_goes_on "$(state a)" running
next x
is and_so_does_its_program "$(said x)" "ok ok "
finish_client x

fd=3

# Processes that end meanwhile.
start x --tenant a -- alloc=4194304 ready line copy=65536 line
start y --tenant a -- alloc=4194304 ready line copy=65536 line
suspend a
go x
go y
await asleep "$(pid x)"
kill -TERM "$(pid x)"
wait "$(pid x)" 2>/dev/null
await eval "[ \$(field a \"len(t['workers'])\") = 1 ]"
is a_signal_ends_a_program_that_waits "$(field a "len(t['workers']), t['state']")" "(1, 'suspended')"
resume a
await eval "[ \"\$(said y)\" = 'ok ok ' ]"
is the_other_one_goes_on "$(said y)" "ok ok "
suspend a
kill -KILL "$(pid y)"
await eval "[ \$(field a \"len(t['workers'])\") = 0 ]"
is a_killed_one_leaves_nothing "$(field a "d['memory'], t['suspended_memory'], t['state']")" "(0, 0, 'suspended')"
is a_tenant_whose_programs_have_ended_is_resumed "$(resume a; state a)" running

finish_client x
finish_client y
fd=3

# The process that asks the driver is killed while it waits for a worker.
start x --tenant a -- alloc=4194304 ready line copy=65536 ready line copy=65536 ready line copy=65536
w=$(worker a)
halt "$w"
suspend a >"$tmp/said" &
asking=$!
await helper
kill -KILL "$(helper)"
kill -CONT "$w"
wait $asking
like the_end_of_the_process_that_asks_is_told "$(cat "$tmp/said")" "ended without an answer; the tenant goes on"
await eval '[ "$(state a)" = running ]'
next x
is after_it_the_program_goes_on "$(said x)" "ok ok "

# Servers that end.
suspend a
kill_alone
is a_tenant_stays_suspended_over_a_kill_of_the_server "$(state a)" suspended
"$wormhole" reload
is and_over_a_reload "$(state a)" suspended
is and_is_resumed_then "$(resume a; state a)" running
next x
is its_program_goes_on_then "$(said x)" "ok ok ok "
halt "$w"
suspend a >"$tmp/said" &
asking=$!
await helper
kill_alone
kill -CONT "$w"
wait $asking
is a_suspension_outlives_the_server_that_began_it "$?$(cat "$tmp/said") $(state a)" "0 suspended"
resume a
next x
is nothing_is_lost_by_that "$(said x)" "ok ok ok ok "
"$wormhole" limit a --mem 32M
suspend a
"$wormhole" limit a --mem 48M
is limits_of_a_suspended_tenant_can_be_changed "$(field a "d['memory_limit'], t['state']")" "(50331648, 'suspended')"
is a_suspended_tenant_can_be_deleted "$("$wormhole" tenant delete a --force 2>&1; "$wormhole" tenant list | grep -c '^a ')" 0

# Empty devices.
for t in p q hand; do "$wormhole" tenant create $t --mem 64M; done
fd=3
start x --tenant p -- alloc=4194304 ready line copy=65536
start y --tenant q -- alloc=4194304 ready line copy=65536
start z --tenant hand -- alloc=65536
suspend hand
is drain_suspends_all_that_run "$("$wormhole" drain --suspend | awk '{ print $1, $2 }'; states p q hand empty)" "TENANT PROGRAMS
p 1
q 1
hand 1
suspended suspended suspended running "
is devices_are_empty_then "$(for t in p q hand; do field $t "d['memory']"; done | tr '\n' ' ')" "0 0 0 "
kill_alone
is they_stay_so_over_a_kill_of_the_server "$(states p q)" "suspended suspended "
like and_no_program_starts "$("$wormhole" run --tenant empty -- "$client" alloc=4096 2>&1)" "takes no new programs"
is the_end_of_that_resumes_those_and_no_other "$("$wormhole" drain --off; states p q hand)" "running running suspended "
next x
next y
is and_their_programs_go_on "$(said x)$(said y)" "ok ok ok ok "
resume hand
finish_client x
finish_client y
finish_client z
fd=3
start x --tenant p -- alloc=65536 "export=$tmp/handle" ready line
start y --tenant q -- alloc=65536
"$wormhole" drain --suspend >"$tmp/said" 2>&1
like one_that_cannot_leave_is_named_and_the_others_leave "$? $(tr '\n' ' ' <"$tmp/said") $(states p q)" \
	"^1 .*tenant p is not suspended: worker .* running suspended $"
"$wormhole" drain --off
finish_client x
finish_client y
fd=3

# A server that is not root's.
"$wormhole" stop --force
mkdir "$tmp/own"
chown 30123 "$tmp/own"
as_user() { setpriv --reuid 30123 --regid 30123 --clear-groups env HOME="$tmp/own" WORMHOLE_DIR="$tmp/own/d" "$@"; }
if setpriv --reuid 30123 --clear-groups test -r "$WH_BUILD/softgpu/libcuda.so.1"; then
	as_user "$wormhole" serve --backend softgpu --daemon --part-size 16M --state none >"$tmp/serve" 2>&1
	mkfifo "$tmp/user.in"
	chown 30123 "$tmp/user.in"
	as_user "$wormhole" run -- "$client" alloc=4096 ready line copy=4096 <"$tmp/user.in" >"$tmp/user.out" 2>&1 &
	user=$!
	exec 3>"$tmp/user.in"
	await grep -q ready "$tmp/user.out"
	like a_server_that_is_not_roots_says_that_it_cannot "$(as_user "$wormhole" suspend default 2>&1)" \
		"CUDA_ERROR_NOT_PERMITTED (800); the server may not look into its workers: run it as root"
	echo >&3
	wait $user
	is its_program_goes_on_all_the_same "$(tail -n 1 "$tmp/user.out")" ok
	as_user "$wormhole" stop --force
else
	skip a_server_that_is_not_roots_says_that_it_cannot "another user cannot read the build"
	skip its_program_goes_on_all_the_same "another user cannot read the build"
fi
