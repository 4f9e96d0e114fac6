#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that whoever is killed, at whatever moment, leaves nothing behind, and that
# the others go on.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

plan 29
serve
"$wormhole" tenant create keep --mem 64M
start other --tenant keep -- alloc=1048576
start a --tenant alpha --mem 64M -- alloc=1048576

kill -KILL "$(pid a)"
wait "$(pid a)" 2>/dev/null
ok killed_program_takes_its_worker_along await has_workers 1
ok and_its_tenant await eval '! files | grep -q alpha'
is other_tenants_go_on "$(field keep "len(t['workers'])")" 1

start b --tenant beta --mem 64M -- alloc=1048576 copy=4096
calls=$(field beta "t['bytes_to_device']")
kill -KILL "$(field beta "t['workers'][0]['pid']")"
ok slot_of_a_killed_worker_is_cleared await field_is beta "len(t['workers'])" 0
is memory_of_a_killed_worker_is_given_back "$(field beta "d['memory']")" 0
is what_it_counted_is_kept "$(field beta "t['bytes_to_device']")" "$calls"
like killed_worker_is_logged "$(cat "$WORMHOLE_DIR/server.log")" "tenant beta: worker [0-9]* killed by signal 9"
is tenant_serves_on "$("$wormhole" run --tenant beta -- "$client" alloc=4096)" ok
finish_client b
await eval '! files | grep -q beta'

start d --tenant delta --mem 64M -- alloc=4096
kill -SEGV "$(field delta "t['workers'][0]['pid']")"
await field_is delta "len(t['workers'])" 0
like a_crashed_worker_says_where_it_was "$(cat "$WORMHOLE_DIR/server.log")" "worker [0-9]*: signal 11 at [^ ]*+0x[0-9a-f]* .*wormhole-server+0x"
ok and_ends_by_its_signal await grep -q "tenant delta: worker [0-9]* killed by signal 11" "$WORMHOLE_DIR/server.log"
finish_client d
await eval '! files | grep -q delta'

is deleting_a_busy_tenant_wants_force "$("$wormhole" tenant delete keep 2>&1)" \
	"wormhole: error: tenant keep has 1 living workers; --force ends them, too"
"$wormhole" tenant delete keep --force
ok forced_deletion_leaves_no_file await eval '! files | grep -q keep'
ok forced_deletion_leaves_no_worker await has_workers 0
finish_client other

await has_workers 0
is default_tenant_cannot_be_deleted "$("$wormhole" tenant delete default >/dev/null 2>&1; echo $?)" 1

start c --tenant gamma --mem 64M -- alloc=4096
old=$(workers)
kill_server
ok workers_end_with_a_killed_server await gone "$old"
like stat_knows_that_no_server_runs "$("$wormhole" stat gamma 2>&1)" "no server runs at"
serve
is files_of_a_killed_server_are_removed "$(files | tr '\n' ' ')" "default.limits default.usage turns "
is next_server_serves "$("$wormhole" run --mem 1G -- "$client" alloc=4096)" ok
"$wormhole" stop

# The end of a program is that of its worker, too, whose memory others may have then.
in_ppoll() { [ "$(cut -d' ' -f1 "/proc/$1/syscall")" = 271 ]; }
serve
start last --mem 64M -- alloc=33554432
worker=$(workers)
program=$(pgrep -n -f "^$client alloc=33554432")
halt "$worker"
eval "exec $fd_last>&-"
ok a_program_that_ends_waits_for_its_worker await in_ppoll "$program"
kill -CONT "$worker"
wait "$(pid last)"
ok and_ends_when_that_has gone "$program"
"$wormhole" stop --when-idle

# A server is killed while one of its processes is in a system call that can take long.
held=$tmp/held
mkdir "$held"
chmod 777 "$held"
serve_held() { HELD=$held LD_PRELOAD=$WH_BUILD/tests/tenant/bin/held.so serve; }
hold() { mkfifo -m 666 "$held/$1"; }
# The FIFO is gone before it is written to, so that nobody waits for a second word.
release() {
	exec 9<>"$held/$1"
	rm "$held/$1"
	echo >&9
	exec 9>&-
}

serve_held
hold unshare
"$wormhole" tenant create held --mem 64M >"$tmp/create" 2>&1 &
create=$!
ok a_server_waits_for_its_helper await test -e "$held/unshare.waits"
kill_server
ok a_command_learns_of_the_end_at_once await gone $create
ok and_the_next_server_starts_while_the_helper_lives serve
release unshare
"$wormhole" stop

serve_held
hold setns
"$wormhole" run --mem 64M -- "$client" alloc=4096 >"$tmp/run" 2>&1 &
ok a_worker_enters_its_namespaces await test -e "$held/setns.waits"
kill_server
ok and_the_next_server_starts_before_it_has serve
release setns
like second_server_is_refused "$("$wormhole" serve --backend softgpu 2>&1)" "another server answers there"

# It is killed before it has said that it goes on. The FIFO is gone by then, so the next is not held.
"$wormhole" stop --force
serve_held
m=$(monitor)
fd=3	# those of clients that have ended: this shell has no numbers of two digits
start r -- alloc=4096 ready line alloc=4096
hold kill
"$wormhole" reload >"$tmp/reload" 2>&1 &
reload=$!
ok a_server_is_held_at_the_end_of_its_start await test -e "$held/kill.waits"
rm "$held/kill"
kill -KILL "$(pgrep -P "$m" -x wormhole-server)"
wait $reload
is killed_there_it_is_followed_by_one_that_answers "$? $(cat "$tmp/reload")" "0 "
next r
is and_whose_programs_compute_on "$(said r)" "ok ok "
finish_client r
finish
