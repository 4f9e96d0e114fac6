#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What --nccl opens of a worker's sandbox, for which tenant, and on which machine at all.
# intruder.so is a driver that tries. Needs root for all but the user's part.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

bin=$WH_BUILD/tests/attack/bin
points="tenant_without_it_is_as_before ranks_have_tcp_sockets but_no_others
	what_nccl_makes_of_these_stands_for_one_by_which_nothing_comes_or_goes
	and_connect_to_no_socket_of_the_servers their_network_is_loopback_alone tenant_that_is_asked_for_it_later_has_it
	created_tenant_has_it"

# got LOG WHAT...: the intruder's answers in the last lines that it wrote.
got() {
	log=$1
	shift
	for what in "$@"; do
		sed -n 's/^worker of [^:]*: intruder: //p' "$log" | sed 's/; /\n/g' | sed -n "s/^$what //p" | tail -n 1
	done | tr '\n' ' '
}
log=$WORMHOLE_DIR/server.log

plan 9
if [ "$(id -u)" = 0 ]; then
	# Whose workers are root cannot tell its tenants apart.
	"$wormhole" serve --backend softgpu --worker-uid none --daemon >/dev/null 2>&1
else
	"$wormhole" serve --backend softgpu --daemon >/dev/null 2>&1
fi
like server_whose_workers_are_no_users_of_their_own_refuses_it \
	"$("$wormhole" run --nccl -- true 2>&1)" "--nccl: workers meet by sockets only in a network namespace and as a user"
"$wormhole" stop

if [ "$(id -u)" != 0 ] || ! "$WH_BUILD/server/wormhole-server" --protection 2>/dev/null | grep -q "^network on of root's" ||
	! "$WH_BUILD/server/wormhole-server" --protection 2>/dev/null | grep -q "^user on"; then
	for p in $points; do skip "$p" "needs root and network namespaces"; done
	finish
fi

INTRUDER=$WORMHOLE_DIR "$wormhole" serve --backend "$bin/intruder.so" --libraries "$WH_BUILD/softgpu" --nvml none \
	--daemon --part-size 16M --host-mem 256M >/dev/null 2>&1
"$wormhole" run --mem 1G -- "$client" alloc=4096 >/dev/null
is tenant_without_it_is_as_before "$(got "$log" socket_inet socket_stream connect)" "EPERM EPERM EPERM "
"$wormhole" run --mem 1G --nccl -- "$client" alloc=4096 >/dev/null
is ranks_have_tcp_sockets "$(got "$log" socket_inet)" "done "
is but_no_others "$(got "$log" socket_stream datagrams)" "EPERM EPERM "
is what_nccl_makes_of_these_stands_for_one_by_which_nothing_comes_or_goes "$(got "$log" stand_in)" "done "
is and_connect_to_no_socket_of_the_servers "$(got "$log" connect)" "EPERM "
is their_network_is_loopback_alone "$(got "$log" devices)" "lo "
"$wormhole" tenant create later >/dev/null
"$wormhole" limit later --nccl
"$wormhole" run --tenant later -- "$client" alloc=4096 >/dev/null
is tenant_that_is_asked_for_it_later_has_it "$(got "$log" socket_inet)" "done "
"$wormhole" tenant create ranks --nccl >/dev/null
"$wormhole" run --tenant ranks -- "$client" alloc=4096 >/dev/null
is created_tenant_has_it "$(got "$log" socket_inet)" "done "
"$wormhole" stop
finish
