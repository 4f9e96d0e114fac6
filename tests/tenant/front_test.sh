#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that programs live through a restart of a service whose server has --keep: the
# process that was started ends, the next one stands for the same server, and that goes on as the
# program that is installed now, with the options and files that are said now.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

# start_service OPTIONS... starts it as systemd would, and waits until it is ready.
start_service() {
	rm -f "$tmp/notified"
	# It must not hold the clients' standard inputs open.
	(
		for f in $(seq 3 "$fd"); do eval "exec $f>&-"; done
		NOTIFY_SOCKET=$tmp/notify exec "$wormhole" serve --backend softgpu --part-size 16M --state none "$@"
	) >"$tmp/serve" 2>&1 &
	service=$!
	await test -s "$tmp/notified"
}
# end_service SIGNAL ends that process alone.
end_service() {
	kill "-$1" "$service"
	wait "$service" 2>/dev/null
	status=$?
}
/usr/bin/python3 - "$tmp/notify" "$tmp/notified" <<'END' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    word = s.recv(100)
    with open(sys.argv[2], 'ab') as f:
        f.write(word)
END
listener=$!
await test -S "$tmp/notify"
conf() { printf '[%s]\nmem = %s\n' "$1" "$2" >"$WORMHOLE_DIR/tenants.d/$1.conf"; }

plan 22
mkdir -p "$WORMHOLE_DIR/tenants.d"
chmod 755 "$WORMHOLE_DIR" "$WORMHOLE_DIR/tenants.d"
conf filed 32M
start_service --keep 100 --mem 256M
ok a_service_is_ready_when_clients_can_connect grep -qx READY=1 "$tmp/notified"
m=$(monitor)
start a --tenant filed -- alloc=4096 ready line alloc=4096 ready line alloc=4096
start b --mem 48M -- alloc=4096 ready line alloc=4096 ready line alloc=4096 ready line alloc=4096
own=$("$wormhole" tenant list | sed -n 's/^\(run[0-9]*\) .*/\1/p')
end_service TERM
next a
is programs_run_on_when_it_is_stopped "$(said a)" "ok ok "
is with_the_server_below_its_monitor "$(monitor) $(kill -0 "$m" && echo lives)" "$m lives"
is new_programs_are_served_meanwhile "$("$wormhole" run -- "$client" alloc=4096 2>/dev/null)" ok
like the_server_says_how_long "$(cat "$tmp/serve")" "service was stopped; programs run on for 100 s"

conf filed 24M
conf second 16M
start_service --keep 100 --mem 128M
is the_next_start_stands_for_the_same_server "$(monitor)" "$m"
ok and_is_ready_too grep -qx READY=1 "$tmp/notified"
next a
is programs_run_on_through_the_restart "$(said a)" "ok ok ok "
next b
is those_with_a_tenant_of_their_own_too "$(said b)" "ok ok "
is limits_are_those_that_files_say_now "$(field filed "d['memory_limit']")" $((24 << 20))
is and_that_options_say_now "$(field default "d['memory_limit']")" $((128 << 20))
is tenants_that_files_say_now_are_made "$(field second "d['memory_limit']")" $((16 << 20))
is that_of_a_running_program_is_as_it_was "$(field "$own" "d['memory_limit']")" $((48 << 20))

end_service KILL
# Two such shares do not fit beside each other.
for t in filed second; do conf "$t" "20M
sm = 90
sm-policy = spatial"; done
start_service --keep 100 --mem 128M
like limits_that_cannot_be_are_named "$(cat "$tmp/serve")" "error: .*tenant [a-z]* is not made: "
is and_what_was_said_before_is_known "$("$wormhole" tenant export | grep -c '^mem = ')" 2
next b
is they_run_on_when_the_process_was_killed "$(said b)" "ok ok ok "
kill -KILL "$(server)"
next b
is and_when_the_server_was "$(said b)" "ok ok ok ok "
like a_second_one_is_refused "$("$wormhole" serve --backend softgpu --keep 5 --state none 2>&1)" \
	"wormhole: error: .*another server answers there$"

finish_client a
finish_client b
"$wormhole" stop
wait "$service"
is it_ends_well_when_the_server_is_stopped $? 0

# Nobody comes again.
start_service --keep 1
start c -- alloc=4096
s=$(server)
end_service TERM
ok without_a_next_start_the_server_ends await gone "$s"
finish_client c 2>/dev/null
is and_leaves_nothing "$(find "$WORMHOLE_DIR" ! -name 'server.lo*' ! -path "$WORMHOLE_DIR" ! -path '*/tenants.d*')" ""

start_service --keep 100
kill -KILL "$(monitor)"
wait "$service"
is with_the_monitor_it_fails $? 1
kill "$listener"
finish
