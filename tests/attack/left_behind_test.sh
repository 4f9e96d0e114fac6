#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a process which escaped from a worker, and still runs as its tenant's
# user, ends with the tenant. The number of that user is given out again only when no process has
# it.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

user_of_tenant() {
	sed -n 's/^Uid:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$(field "$1" "t['workers'][0]['pid']")/status"
}
# The process is gone, or it is a zombie that this script reaps.
ended() { ! grep -q '^State:.[^Z]' "/proc/$1/status"; }
# escape starts left_behind.c as the user $uid. `reaches` prints what it reaches, without numbers
# and names.
escape() {
	rm -f "$tmp/in" "$tmp/out"
	mkfifo "$tmp/in"
	# The process must not hold the clients' standard inputs open.
	(
		for f in $(seq 4 "$fd"); do eval "exec $f>&-"; done
		exec "$WH_BUILD/tests/attack/bin/left_behind" "$uid"
	) <"$tmp/in" >"$tmp/out" &
	escaped=$!
	exec 9>"$tmp/in"
	await grep -q here "$tmp/out"
}
reaches() {
	asked=$(grep -c end "$tmp/out")
	echo >&9
	await eval '[ "$(grep -c end "$tmp/out")" -gt "$asked" ]'
	sed '/end/d; /here/d; s/ .*//' "$tmp/out" | sort -u | tr '\n' ' '
}
end_it() {
	exec 9>&-
	kill "$escaped" 2>/dev/null
	wait "$escaped" 2>/dev/null
}

if [ "$(id -u)" != 0 ] || ! setpriv --reuid 30123 --clear-groups test -r "$WH_BUILD/softgpu/libcuda.so.1"; then
	plan 1
	skip who_is_left_behind "needs root and a build folder that others may read"
	finish
fi
plan 8
# The test uses user numbers that no other server takes or gives out meanwhile.
serve --worker-uid 31000
"$wormhole" tenant create b --mem 64M
start b --tenant b -- alloc=4096
uid=$(user_of_tenant b)
escape
# left_behind.c is a real attack: a process of the same user can end workers, but cannot read
# their memory or files.
is who_has_the_user_reaches_its_workers "$(reaches)" "signal "
is but_not_their_memory "$(grep -c 'memory\|window' "$tmp/out")" 0
finish_client b
await has_workers 0
"$wormhole" tenant delete b
ok process_that_outlives_a_tenant_ends_with_it await ended "$escaped"
end_it

# Here the process exists before the server looks, as if a server had been killed and had left it
# behind.
escape
"$wormhole" tenant create b --mem 64M
start d --tenant b -- alloc=4096
other=$(user_of_tenant b)
ok number_that_a_process_has_is_left_out test "${other:-$uid}" != "$uid"
like and_that_is_said "$(cat "$WORMHOLE_DIR/server.log")" "user $uid is left out"
is it_reaches_nothing_of_the_next_tenant "$(reaches)" ""
finish_client d
await has_workers 0
end_it
"$wormhole" tenant delete b
"$wormhole" tenant create b --mem 64M
start e --tenant b -- alloc=4096
is number_is_given_out_again_when_nobody_has_it "$(user_of_tenant b)" "$uid"
finish_client e
is server_lives_on "$("$wormhole" run --mem 64M -- "$client" alloc=4096)" ok
finish
