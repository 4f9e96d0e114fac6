#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that workers of root's server have users of their own, one for each tenant.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

user_of() { sed -n 's/^Uid:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$1/status"; }
workers_users() { for w in $(workers); do user_of "$w"; done; }
user_of_tenant() { user_of "$(field "$1" "t['workers'][0]['pid']")"; }

if [ "$(id -u)" != 0 ] || ! setpriv --reuid 30123 --clear-groups test -r "$WH_BUILD/softgpu/libcuda.so.1"; then
	plan 1
	skip users_of_workers "needs root and a build folder that others may read"
	finish
fi
plan 22
serve
is a_start_gives_back_the_user_that_it_asked_the_backend_as "$(grep 'not given out' "$tmp/serve")" ""
"$wormhole" tenant create b --mem 64M
start a --tenant a --mem 64M -- alloc=4096
start b --tenant b -- alloc=4096
start c --tenant a -- alloc=4096
is stat_says_what_protects "$(field a "t['protection']['user'], t['protection']['calls']")" "(True, True)"
is workers_of_a_tenant_have_one_user_and_others_another \
	"$(workers_users | sort | uniq -c | awk '{ print $1 }' | sort | tr '\n' ' ')" "1 2 "
uid=$(user_of_tenant b)
is its_user_cannot_open_its_limits "$(setpriv --reuid "$uid" --clear-groups \
	test -r "$WORMHOLE_DIR/tenants/b.limits"; echo $?)" 1
shared_files_of() { ls "/proc/$(field "$1" "t['workers'][0]['pid']")/root/dev/shm" | tr '\n' ' '; }
echo left >"/proc/$(field b "t['workers'][0]['pid']")/root/dev/shm/left.$$"
is its_dev_shm_is_its_own "$(shared_files_of b); $(shared_files_of a); $(ls "/dev/shm/left.$$" 2>/dev/null)" "left.$$ wormhole-code ; wormhole-code ; "
# private PID prints what /proc shows of a process only to its user.
private() {
	setpriv --reuid 30123 --clear-groups sh -c 'for f in environ maps mem; do head -c 1 "/proc/$1/$f"; done
		for f in fd root cwd; do ls "/proc/$1/$f/"; done' sh "$1" 2>/dev/null
}
is another_user_looks_into_no_worker "$(private "$(field a "t['workers'][0]['pid']")")" ""
is nor_into_the_server "$(private "$(server)")" ""
is nor_does_one_tenants_user_into_anothers "$(setpriv --reuid "$uid" --clear-groups \
	head -c 1 "/proc/$(field a "t['workers'][0]['pid']")/environ" 2>/dev/null)" ""
for name in a b c; do finish_client $name; done
await has_workers 0

start e --tenant b -- alloc=4096
env WORMHOLE_DIR="$tmp/d2" "$wormhole" serve --backend softgpu --daemon --part-size 16M >/dev/null 2>&1
theirs=$(export WORMHOLE_DIR="$tmp/d2"; start f -- alloc=4096; workers_users; finish_client f)
env WORMHOLE_DIR="$tmp/d2" "$wormhole" stop
is two_servers_share_no_number "$(workers_users | grep -c -x -e "${theirs:-[0-9]*}")" 0
finish_client e
"$wormhole" stop

# elsewhere OPTION... starts a server that sees another /run, as in a container, and none of this
# server's locks.
elsewhere() {
	unshare -m sh -c 'mount -t tmpfs run /run && WORMHOLE_DIR=$1 && export WORMHOLE_DIR && shift && exec "$@"' sh "$tmp/d3" \
		"$wormhole" serve --backend softgpu --daemon --part-size 16M "$@" >"$tmp/elsewhere" 2>&1
}
range() { sed -n 's/.*own (\([0-9]* to [0-9]*\)).*/\1/p' "$1"; }
if unshare -m true 2>/dev/null; then
	serve
	start h -- alloc=4096
	elsewhere
	like server_that_sees_another_run_has_other_users "$(range "$tmp/elsewhere")" " to "
	ok and_none_of_these eval '[ "$(range "$tmp/elsewhere")" != "$(range "$tmp/serve")" ]'
	WORMHOLE_DIR=$tmp/d3 "$wormhole" run --mem 64M -- "$client" alloc=4096 >/dev/null
	WORMHOLE_DIR=$tmp/d3 "$wormhole" stop
	finish_client h
	is nobodys_workers_are_killed "$(said h)" "ok "
	"$wormhole" stop
	serve --worker-uid 32000
	elsewhere --worker-uid 32000
	like of_two_that_are_told_the_same_one_does_not_start "$(cat "$tmp/elsewhere")" \
		"users from 32000 on: a server that sees another /run gives them out; name others by --worker-uid"
	"$wormhole" stop
	elsewhere --worker-uid 32000
	is when_it_has_ended_the_other_does "$(range "$tmp/elsewhere")" "32000 to 32255"
	WORMHOLE_DIR=$tmp/d3 "$wormhole" stop
	serve --worker-uid 32000
	holder=$(pgrep -u 32256)
	kill -KILL "$holder"
	ok what_says_whose_they_are_comes_back await pgrep -u 32256
	kill_server
	ok and_ends_with_its_server await eval '! pgrep -u 32256'
	like a_killed_servers_users_are_free_again_when_init_looks_once_in_three_seconds \
		"$("$WH_TOP/tests/tenant/late_init.py" 3 32256 "$wormhole" serve --backend softgpu --daemon --part-size 16M \
		--state none --worker-uid 32000)" "^0 "
	"$wormhole" stop
	# The lock is that of a server which hangs while it takes its users.
	like one_that_hangs_makes_no_other_wait_for_ever "$(unshare -m sh -c 'mount -t tmpfs run /run && exec "$@"' sh \
		/usr/bin/python3 -c 'import fcntl, struct, subprocess, sys
with open("/run/wormhole-uids", "wb") as f:
    fcntl.fcntl(f, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
    subprocess.run(sys.argv[1:], stderr=subprocess.STDOUT)' \
		"$wormhole" serve --backend softgpu --daemon --state none --dir "$tmp/d4")" \
		"wormhole-uids: another server has had it locked for 10 s"
else
	for p in server_that_sees_another_run_has_other_users and_none_of_these nobodys_workers_are_killed \
		of_two_that_are_told_the_same_one_does_not_start when_it_has_ended_the_other_does \
		what_says_whose_they_are_comes_back and_ends_with_its_server \
		a_killed_servers_users_are_free_again_when_init_looks_once_in_three_seconds \
		one_that_hangs_makes_no_other_wait_for_ever; do
		skip $p "no mount namespaces here"
	done
fi

echo secret >"$tmp/secret"
exec 3<"$tmp/secret"
serve
exec 3<&-
fd=3
start g -- alloc=4096
is descriptors_of_whoever_started_the_server_are_closed "$(find "/proc/$(workers)/fd" -lname "$tmp/secret" | wc -l)" 0
finish_client g
"$wormhole" stop
serve --worker-uid none
like worker_uid_none_says_that_workers_are_root "$("$wormhole" stat)" "not by: user (--worker-uid none)"
"$wormhole" stop
serve --worker-uid 0
like unusable_numbers_are_named "$(cat "$tmp/serve")" "worker-uid.*'0'"
mkdir -m 700 "$tmp/closed"
cp "$WH_BUILD/softgpu/libcuda.so.1" "$tmp/closed/"
"$wormhole" serve --backend "$tmp/closed/libcuda.so.1" --nvml none --daemon >"$tmp/serve" 2>&1
like unreadable_backend_names_the_next_step "$(cat "$tmp/serve")" \
	"closed/libcuda.so.1: .*Permission denied; workers are no root.*--worker-uid none"
finish
