#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The driver's cache of compiled code: a folder for each tenant, which its workers
# share, nobody else reads, and nothing is left of, however a worker fills it.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

# What the last worker said of WHAT.
got() {
	grep -o "[:;] $1 [^;]*" "$WORMHOLE_DIR/server.log" | tail -n 1 | sed "s/^. $1 //"
}
start_server() {
	INTRUDER_CACHE=1 serve --backend "$WH_BUILD/tests/attack/bin/intruder.so" --libraries "$WH_BUILD/softgpu" \
		--nvml none "$@"
}
intrude() {
	start_server "$@"
	"$wormhole" tenant create a --mem 64M
	"$wormhole" tenant create b --mem 64M
}
kill_server() {
	kill -9 "$(server)"
	await eval '! kill -0 $(server)'
}
# With all processes that it has started.
stop_server() {
	stopped=$(server)
	"$wormhole" stop >/dev/null 2>&1
	await eval '[ -z "$(pgrep -P $stopped)" ] && ! kill -0 $stopped'
}
at_other() (
	export WORMHOLE_DIR="$tmp/other"
	"$@"
)
user_of() { stat -c %u "$1"; }
run() { "$wormhole" run --tenant "$1" -- "$client" alloc=4096 >/dev/null 2>&1; }

if [ "$(id -u)" != 0 ] || ! setpriv --reuid 30123 --clear-groups test -r "$WH_BUILD/softgpu/libcuda.so.1"; then
	plan 1
	skip caches_of_tenants "needs root and a build folder that others may read"
	finish
fi
plan 17
intrude
run a
is first_worker_finds_an_empty_cache "$(got cache_kept)" ENOENT
at_a=$(got cache_at)
is and_can_write_there "$(got cache_make)" done
run a
is next_worker_finds_what_it_wrote "$(got cache_kept)" done
run b
at_b=$(got cache_at)
is other_tenants_worker_does_not "$(got cache_kept)" ENOENT
is and_opens_no_cache_but_its_own "$(got cache_others)" 0
await has_workers 0
"$wormhole" tenant delete a
ok cache_goes_with_its_tenant await eval '[ -d "$at_b" ] && [ ! -e "$at_a" ]'
"$wormhole" stop >/dev/null 2>&1
ok nothing_is_left_of_a_server_that_stops await eval '[ -n "$at_b" ] && [ ! -e "$at_b" ]'

intrude
run a
at_a=$(got cache_at)
kill_server
intrude
run a
run b
"$wormhole" stop >/dev/null 2>&1
ok nor_of_one_that_was_killed_once_the_next_has_run await eval '[ -n "$at_a" ] && [ ! -e "$at_a" ]'

# Two servers with the same users, of which the first is killed. The next one gives out none but the lowest number.
intrude
at_other intrude
at_other run b
theirs=$(at_other got cache_at)
user_theirs=$(user_of "$theirs")
await at_other has_workers 0
run a
at_a=$(got cache_at)
run b
at_b=$(got cache_at)
user_b=$(user_of "$at_b")
# Before the server's end: another test's server may clean up, too.
setpriv --reuid "$user_b" --regid "$user_b" --clear-groups sleep 1000 &
sleeper=$!
await eval '[ "$(user_of /proc/$sleeper)" = "$user_b" ]'
kill_server
# One that a server was removing when it was killed, a link, and what is nobody's of ours.
left=/dev/shm/wormhole-code.$((user_b + 100)).$$
foreign=/dev/shm/wormhole-code.29123.$$
link=/dev/shm/wormhole-code.link.$$
mkdir -p "$left/d" "$foreign/d" "$tmp/target/d"
chown -R 29123 "$foreign"
chown -R $((user_b + 100)) "$left/d" "$tmp/target"
ln -s "$tmp/target" "$link"
chown -h $((user_b + 100)) "$link"
start_server
ok what_a_killed_server_left_goes_at_the_next_start await eval '[ -n "$at_a" ] && [ ! -e "$at_a" ]'
ok and_what_it_was_removing await eval '[ ! -e "$left" ]'
is not_while_a_process_has_the_user "$(user_of "$at_b")" "$user_b"
kill $sleeper
wait $sleeper 2>/dev/null
ok but_after_it await eval '[ -n "$at_b" ] && [ ! -e "$at_b" ]'
# With all sweeps that it makes.
stop_server
start_server
stop_server
is nor_that_of_another_servers_living_tenant "$(user_of "$theirs")" "$user_theirs"
at_other run b
is which_finds_it_again "$(at_other got cache_kept)" done
is links_and_folders_of_others_stay "$(ls "$foreign" "$tmp/target" | grep -c '^d$')" 2
at_other stop_server
rm -rf "$left" "$foreign" "$link"

mkdir "$tmp/cache"
CUDA_CACHE_PATH=$tmp/cache intrude --worker-uid none
run a
is without_users_there_is_none "$(got cache)" "off 1"
is nor_that_of_whoever_started_the_server "$(got cache_path)" none
finish
