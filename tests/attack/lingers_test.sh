#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a client that is refused does not hold up the server by what it has sent: a
# descriptor whose close waits. So it is where the server has no descriptor or process left, too.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

fault=$tmp/fault
# faults KIND lets the server's next call of this kind fail (tests/tenant/fail.c); 0: none.
faults() { /usr/bin/python3 -c 'import struct, sys
with open(sys.argv[1], "r+b") as f:
    f.write(struct.pack("<5I", int(sys.argv[2]), 2, 1, 0, 0))' "$fault" "$1"; }
has_failed() { [ "$(od -An -tu4 -j16 -N4 "$fault")" -eq 1 ]; }
attackers=
# sends NAME TENANT makes a client that has sent before anybody reads: the server stands still.
sends() {
	/usr/bin/python3 "$WH_TOP/tests/attack/lingers.py" "$WORMHOLE_DIR/tenants/$2.sock" >"$tmp/$1" 2>&1 &
	attackers="$attackers $!"
	await grep -q sent "$tmp/$1"
}
# lingers NAME COMMAND... runs the command before the server goes on, and is back after the refusal.
lingers() {
	name=$1
	shift
	halt "$(server)"
	sends "$name" own
	"$@"
	kill -CONT "$(server)"
	await grep -q -e heard -e ended "$tmp/$name"
}
trap 'kill $attackers 2>/dev/null; clean_up' EXIT
answers() { timeout 20 "$wormhole" tenant list >/dev/null 2>&1; }
ended() { await grep -q ended "$tmp/$1"; }

plan 10
truncate -s 4096 "$fault"
LD_PRELOAD=$WH_BUILD/tests/tenant/bin/fail.so FAIL_FILE=$fault serve
first=$(server)
"$wormhole" tenant create own
"$wormhole" tenant create brief
"$wormhole" drain >/dev/null 2>&1
lingers refused true
ok what_a_refused_client_has_sent_holds_up_nobody answers
ok and_its_connection_ends ended refused

# No number is free but the one that the server keeps for this case: three connections have the
# lowest ones. The server has closed those of commands before.
/usr/bin/python3 - "$WORMHOLE_DIR/control.sock" >"$tmp/held" <<'END' &
import socket, sys, time
held = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for i in range(3)]
for s in held:
    s.connect(sys.argv[1])
    s.send(b'{"op":"list"}')
    s.recv(65536)
print('held', flush=True)
time.sleep(1000)
END
attackers="$attackers $!"
await grep -q held "$tmp/held"
quiet() {
	awk '$6 == "03" && /control.sock$/ { print "socket:[" $7 "]" }' /proc/net/unix >"$tmp/connected"
	[ "$(find "/proc/$first/fd" -mindepth 1 -printf '%l\n' | grep -c -x -F -f "$tmp/connected")" = 3 ]
}
few() {
	lowest=$(find "/proc/$first/fd" -mindepth 1 | sed 's|.*/||' | sort -n | awk '$1 == n { n++ } END { print n + 0 }')
	prlimit --pid "$first" --nofile="$lowest:4096"
}
await quiet
lingers few few
prlimit --pid "$first" --nofile=4096:4096
like without_a_descriptor_the_log_says_so "$(tail -n 1 "$WORMHOLE_DIR/server.log")" "tenant own: .*no file descriptor left"
ok nor_does_what_it_has_sent_then answers
ok its_connection_ends_too ended few

lingers alone faults 2
ok nor_where_there_is_no_process_for_its_end eval 'has_failed && answers'
lingers next true
ok its_connection_ends_with_the_next_clients_then ended alone

# A tenant ends before the server has accepted one of its clients: it hears of the order first.
mkfifo "$tmp/order"
/usr/bin/python3 - "$WORMHOLE_DIR/control.sock" "$tmp/order" >"$tmp/deleted" <<'END' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.send(b'{"op":"list"}')
s.recv(65536)
print('heard', flush=True)
open(sys.argv[2]).read()
s.send(b'{"op":"delete","tenant":"brief"}')
print('sent', flush=True)
print(s.recv(65536).decode(), flush=True)
END
await grep -q heard "$tmp/deleted"
halt "$first"
: >"$tmp/order"
await grep -q sent "$tmp/deleted"
sends late brief
kill -CONT "$first"
ok nor_at_the_end_of_a_tenant_that_has_not_accepted_it eval 'await grep -q ok "$tmp/deleted" && answers'
is which_says_so "$(tail -n 1 "$tmp/deleted")" '{"ok":true}'
is it_is_the_same_server_all_the_time "$(server)" "$first"
finish
