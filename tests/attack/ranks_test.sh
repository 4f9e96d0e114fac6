#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what --nccl opens in a worker's sandbox, for which tenants, and on which
# machines. It also tests which tenants have NCCL when no option says so. intruder.so is a driver
# that tries each attack. All parts but the user's need root.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

bin=$WH_BUILD/tests/attack/bin
points="program_of_plain_run_has_tcp_sockets one_with_limits_too without_them_it_has_none
	another_users_program_has_none unless_it_is_said ranks_have_tcp_sockets but_no_others
	what_nccl_makes_of_these_stands_for_one_by_which_nothing_comes_or_goes
	and_connect_to_no_socket_of_the_servers their_network_is_loopback_alone created_tenant_has_none
	tenant_that_is_asked_for_it_later_has_it and_then_for_none_again created_tenant_has_it
	server_without_it_has_none_for_plain_run"

# got LOG WHAT... prints the intruder's answers from the last lines that it wrote.
got() {
	log=$1
	shift
	for what in "$@"; do
		sed -n 's/^[^ ]* worker of [^:]*: intruder: //p' "$log" | sed 's/; /\n/g' | sed -n "s/^$what //p" | tail -n 1
	done | tr '\n' ' '
}
log=$WORMHOLE_DIR/server.log

serve() {
	INTRUDER=$WORMHOLE_DIR "$wormhole" serve --backend "$bin/intruder.so" --libraries "$WH_BUILD/softgpu" \
		--nvml none --daemon --part-size 16M --host-mem 256M "$@" >/dev/null 2>&1
}
# answers prints how many workers have said what they got; the log has their lines a little later.
answers() { grep -c "intruder: .*socket_inet" "$log" 2>/dev/null; }
more_than() { [ "$(answers)" -gt "$1" ]; }
# sockets OPTION... runs a program with these options and prints the answer that its worker gets
# when it asks for TCP.
sockets() {
	before=$(answers)
	"$wormhole" run "$@" -- "$client" alloc=4096 >/dev/null
	await more_than "${before:-0}"
	got "$log" socket_inet
}

plan 16
if [ "$(id -u)" = 0 ]; then
	# A server whose workers run as root cannot tell its tenants apart.
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

serve
is program_of_plain_run_has_tcp_sockets "$(sockets)" "done "
is one_with_limits_too "$(sockets --mem 1G)" "done "
is without_them_it_has_none "$(sockets --mem 1G --no-nccl)$(got "$log" socket_stream connect)" "EPERM EPERM EPERM "
is another_users_program_has_none "$(sockets --user nobody --mem 1G)" "EPERM "
is unless_it_is_said "$(sockets --user nobody --nccl)" "done "
is ranks_have_tcp_sockets "$(sockets --mem 1G --nccl)" "done "
is but_no_others "$(got "$log" socket_stream datagrams)" "EPERM EPERM "
is what_nccl_makes_of_these_stands_for_one_by_which_nothing_comes_or_goes "$(got "$log" stand_in)" "done "
is and_connect_to_no_socket_of_the_servers "$(got "$log" connect)" "EPERM "
is their_network_is_loopback_alone "$(got "$log" devices)" "lo "
"$wormhole" tenant create later >/dev/null
is created_tenant_has_none "$(sockets --tenant later)" "EPERM "
"$wormhole" limit later --nccl
is tenant_that_is_asked_for_it_later_has_it "$(sockets --tenant later)" "done "
"$wormhole" limit later --no-nccl
is and_then_for_none_again "$(sockets --tenant later)" "EPERM "
"$wormhole" tenant create ranks --nccl >/dev/null
is created_tenant_has_it "$(sockets --tenant ranks)" "done "
"$wormhole" stop
serve --no-nccl
is server_without_it_has_none_for_plain_run "$(sockets)" "EPERM "
"$wormhole" stop
finish
