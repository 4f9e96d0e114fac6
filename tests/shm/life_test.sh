#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises lives and deaths: whoever is killed, the others go on and nothing stays
# behind.
. "$(dirname "$0")/lib.sh"

loop() { "$bin/client" loop >"$1" 2>&1 & }
one_worker() { [ "$(workers | wc -l)" = 1 ]; }
segments() { ls -l /proc/"$server"/fd | grep -c wormhole-part; }

plan 16

start_server --part-size 16M
loop "$tmp/a"
client=$!
await grep -q ready "$tmp/a" && await one_worker
point "client_has_a_worker_of_its_own"
kill -KILL "$client"
wait "$client" 2>/dev/null
await no_workers
point "worker_ends_when_its_client_is_killed"
"$bin/client" once >"$tmp/o" 2>&1
point "server_serves_the_next_client"

loop "$tmp/b"
client=$!
await grep -q ready "$tmp/b"
kill -KILL $(workers)
start=$(date +%s)
wait "$client"
[ $? = 0 ] && grep -q 'CUDA_ERROR_DEVICE_UNAVAILABLE' "$tmp/b"
point "client_gets_an_error_when_its_worker_is_killed" || sed 's/^/# /' "$tmp/b"
[ $(($(date +%s) - start)) -le 5 ]
point "and_gets_it_within_five_seconds"
"$bin/client" once >"$tmp/o" 2>&1
point "server_serves_on_after_a_worker_died"

"$bin/client" orphan >"$tmp/c" 2>&1
await no_workers
point "worker_ends_although_a_child_of_its_client_lives" || workers | sed 's/^/# /'
kill -KILL "$(cat "$tmp/c")"

pids=
for i in 1 2 3 4; do
	"$bin/client" once >"$tmp/p$i" 2>&1 &
	pids="$pids $!"
done
rc=0
for p in $pids; do wait "$p" || rc=1; done
[ $rc = 0 ]
point "four_clients_at_once_are_served"
await no_workers && [ "$(segments)" = 0 ]
point "server_holds_no_memory_of_ended_clients"

loop "$tmp/d"
client=$!
await grep -q ready "$tmp/d"
kill -KILL "$server"
wait "$client"
[ $? = 0 ] && grep -q CUDA_ERROR_DEVICE_UNAVAILABLE "$tmp/d"
point "client_gets_an_error_when_the_server_is_killed"
server=
start_server --part-size 16M
point "server_starts_over_the_socket_of_a_killed_one"
"$WH_BUILD/server/wormhole-server" --backend x >"$tmp/o" 2>&1
[ $? = 1 ] && grep -q 'another server answers' "$tmp/o"
point "second_server_on_a_socket_is_refused"
stop_server
[ ! -e "$WORMHOLE_SOCKET" ]
point "socket_goes_with_the_server"
"$bin/client" once >"$tmp/o" 2>&1
[ $? = 3 ] && grep -q CUDA_ERROR_NO_DEVICE "$tmp/o" && grep -q '^wormhole: error: cannot connect to .*; its server, or the tenant, has ended' "$tmp/o"
point "no_server_is_no_device_and_says_why" || sed 's/^/# /' "$tmp/o"
WORMHOLE_TRANSPORT=auto "$bin/client" once >"$tmp/o" 2>"$tmp/e"
[ $? = 3 ] && [ ! -s "$tmp/e" ]
point "auto_without_a_server_is_silent" || sed 's/^/# /' "$tmp/e"
# This stands in for a server of another release, as far as its first message.
python3 -B - "$WORMHOLE_SOCKET" >"$tmp/ready" <<'EOF' &
import os
import socket
import struct
import sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
s.listen()
print("ready", flush=True)
c = s.accept()[0]
c.send(struct.pack("<IIiIQQ200s", 0x5748534D, 77, 0, 5, 0, 0, b""))
EOF
await grep -q ready "$tmp/ready"
"$bin/client" once >"$tmp/o" 2>&1
[ $? = 3 ] && grep -q 'client library has ABI .*, worker has ABI 77.5: install the same release' "$tmp/o"
point "server_of_another_release_is_named_with_both_versions" || sed 's/^/# /' "$tmp/o"
rm -f "$WORMHOLE_SOCKET"
