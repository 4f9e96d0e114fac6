#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a program without a worker says why, with the value and the next step, and
# that it does so without WORMHOLE_LOG. What a user sees begins with "wormhole: " and a level,
# whoever says it; lines of the server's log begin with their level.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

# by_hand SOCKET tells a program that goes to this socket, as one does whose tenant is gone.
by_hand() {
	WORMHOLE_TRANSPORT=$1 WORMHOLE_SOCKET=$2 LD_LIBRARY_PATH=$WH_BUILD/client-stubs "$client" alloc=4096 2>&1
}

plan 12
printf 'not a library\n' >"$tmp/libcuda.so"
is a_server_that_does_not_start_says_so_as_the_command_does \
	"$("$wormhole" serve --backend "$tmp/libcuda.so" 2>&1 | grep -c "^wormhole: error: .*$tmp/libcuda.so")" 1
is so_does_one_that_would_go_to_the_background \
	"$(serve --backend "$tmp/libcuda.so"; grep -c "^wormhole: error: .*$tmp/libcuda.so" "$tmp/serve")" 1
is and_one_with_a_bad_variable "$(CUDA_DEVICE_SM_LIMIT=x "$wormhole" serve --backend softgpu 2>&1 |
	grep -c "^wormhole: error: CUDA_DEVICE_SM_LIMIT='x' is not a percentage")" 1
serve
is all_that_a_server_says_at_its_start_does "$(grep -v -e '^wormhole: info: ' -e '^wormhole: warn: ' "$tmp/serve")" \
	"wormhole-server: listening on $WORMHOLE_DIR/server.sock"
said=$("$wormhole" run --host-mem 8M -- "$client" alloc=4096 2>&1)
like program_without_room_is_told_the_value_and_the_next_step "$said" \
	"^wormhole: error: no worker: tenant run[0-9]*: 8 MiB of host memory have no room for a part of 16 MiB; give more by --host-mem"
is it_is_told_once_and_of_no_status "$(echo "$said" | grep -c wormhole) $(echo "$said" | grep -c status)" "1 0"
"$wormhole" tenant create small --host-mem 8M
like so_it_is_where_the_transport_is_found "$(by_hand auto "$WORMHOLE_DIR/tenants/small.sock")" \
	"^wormhole: error: no worker: tenant small: 8 MiB"
like program_whose_tenant_is_gone_is_told_so "$(by_hand shm "$WORMHOLE_DIR/tenants/gone.sock")" \
	"^wormhole: error: cannot connect to .*/gone.sock: No such file.*the tenant, has ended"

# A tenant's 65th client: magic, version, status, version, two sizes and the text.
"$wormhole" tenant create full --host-mem none
like client_65_of_a_tenant_is_told_what_to_do "$(/usr/bin/python3 - "$WORMHOLE_DIR/tenants/full.sock" <<'END'
import socket, struct, sys
kept = []
for i in range(65):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    kept.append(s)
    welcome = s.recv(4096)
    if struct.unpack_from('<i', welcome, 8)[0]:
        print(i, welcome[32:].split(b'\0')[0].decode())
END
)" "^64 tenant full has 64 workers, the most there may be .*; further programs need another tenant$"
start killed --tenant logged --mem 64M -- alloc=4096
kill -KILL "$(workers)"
await grep -q logged "$WORMHOLE_DIR/server.log"
like lines_of_the_log_have_their_time_and_level_alone "$(grep logged "$WORMHOLE_DIR/server.log")" \
	'^20[^ ]* \(info\|warn\|error\): '
"$wormhole" stop --force
if [ "$(id -u)" = 0 ]; then
	serve
	as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; }
	like who_may_not_control_is_told_whom_to_ask "$(as_nobody "$wormhole" run --mem 1G -- true 2>&1)" \
		"only root and the server's user may control it; ask them for a tenant: .wormhole tenant create NAME --user nobody'"
	is such_a_program_fails "$(as_nobody "$wormhole" run --mem 1G -- true 2>/dev/null; echo $?)" 1
else
	skip who_may_not_control_is_told_whom_to_ask "needs root"
	skip such_a_program_fails "needs root"
fi
finish
