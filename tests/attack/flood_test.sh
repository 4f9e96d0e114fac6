#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that floods do not disturb others. A user who connects all the time is told
# so, and a worker that writes all the time is cut off. The log stays short and says how much was
# left out, and other tenants are served.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

log=$WORMHOLE_DIR/server.log
logged() { stat -c %s "$log"; }
# The script comes on standard input, since the user need not be able to read the sources.
connect_to() {
	as_user /usr/bin/python3 - "$WORMHOLE_DIR/tenants/$1.sock" "$2" $3 <"$WH_TOP/tests/attack/flood.py"
}
flood() { connect_to flood "$@"; }
if [ "$(id -u)" = 0 ]; then
	user=nobody
	as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; }
else
	user=$(id -un)
	as_user() { "$@"; }
fi

plan 14
serve
"$wormhole" tenant create flood --user "$user"
# The tenant `beside` has the same user. Every container has root as its only user, so the flood of
# one tenant must not disturb another tenant of the same user.
"$wormhole" tenant create beside --user "$user"
before=$(logged)
begun=$(date +%s)
flood 1200 >"$tmp/said" 2>&1
# The tenant is served 256 times, plus the number of connections that it got back meanwhile, and
# no more often. A machine that starts less than those turns nobody away.
most=$((256 + 32 * ($(date +%s) - begun + 1)))
served=$(sed -n 's/ served$//p' "$tmp/said")
if [ "$most" -lt 1200 ]; then
	like who_connects_all_the_time_is_told "$(cat "$tmp/said")" "[0-9]* tenant flood connects too often: 256 at once and then"
else
	skip who_connects_all_the_time_is_told "workers start too slowly here"
fi
ok it_is_served_its_number_of_times [ "$served" -ge 256 -a "$served" -le "$most" ]
ok log_grows_by_little [ $(($(logged) - before)) -lt 8192 ]
turned_away=$(awk '!/ served$/ { n += $1 } END { print n + 0 }' "$tmp/said")
left_out() { sed -n 's/.* warn: tenant [^:]*: left out: \([0-9]*\) lines; the last: tenant [^:]*: no worker.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }'; }
refused_lines() { grep -c '^[^ ]* warn: tenant [^:]*: no worker for a client' "$log"; }
all_are_counted() { [ $(($(left_out) + $(refused_lines))) = "$turned_away" ]; }
ok what_is_left_out_is_counted await all_are_counted
flood 1200 >"$tmp/said" 2>&1 &
is another_tenant_of_the_same_user_is_served "$(connect_to beside 20)" "20 served"
wait $!
before=$(logged)
flood 50000 hasty >"$tmp/said" 2>&1
is who_does_not_listen_connects_in_vain "$(cut -d' ' -f1 "$tmp/said")" 50000
ok log_grows_by_little_then_too [ $(($(logged) - before)) -lt 8192 ]
if [ "$(id -u)" = 0 ]; then
	flood 400 >"$tmp/said" 2>&1 &
	is others_are_served_meanwhile "$("$wormhole" run --mem 64M -- "$client" alloc=4096)" ok
	wait $!
else
	skip others_are_served_meanwhile "needs root"
fi
if as_user test -x "$wormhole" && as_user test -x "$client"; then
	ok it_is_served_again_later await as_user "$wormhole" run --tenant flood -- "$client" alloc=4096
else
	skip it_is_served_again_later "needs a build folder that others may read"
fi
[ "$(id -u)" != 0 ] || "$wormhole" tenant delete flood --force

# loud.c writes what a hijacked worker could write: standard error is the worker's only way to the
# log.
start a --tenant loud --mem none -- alloc=4096
w=$(field loud "t['workers'][0]['pid']")
before=$(logged)
is a_worker_has_no_log_open "$(readlink "/proc/$w/fd/2" | cut -d: -f1) $(find "/proc/$w/fd" -lname '*server.log' | wc -l)" "pipe 0"
"$WH_BUILD/tests/attack/bin/loud" "/proc/$w/fd/2"
ok log_of_a_loud_worker_grows_by_little [ $(($(logged) - before)) -lt 8192 ]
is its_lines_are_named_and_harmless "$(grep -c '^[^ ]* worker of loud: ?\[2Jerror: the server ends$' "$log") $(grep -c '^[^ ]* error: the server' "$log")" "1 0"
ok what_is_left_out_of_them_is_counted await grep -q '^[^ ]* warn: tenant loud: left out: 1[0-9]* lines; the last: warn: worker: says the same' "$log"
finish_client a
is server_lives_on "$("$wormhole" run --mem 64M -- "$client" alloc=4096)" ok
finish
