#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that `logs` prints what the server has written, all of it or what is about one
# tenant. Consoles of VMs are in tests/cli/vms_test.sh.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

logs() { "$wormhole" logs "$@" 2>&1; }
worker() { field "$1" "t['workers'][0]['pid']"; }
has() { logs "$1" | grep -q "$2"; }

plan 21
like without_a_server_there_is_no_log "$(logs)" "no server has run there in the background"
like and_where_a_service_says_why_it_is_none_is_named "$(logs)" "\`journalctl -u wormhole' has why"
like no_journal_is_taken_for_one "$("$wormhole" serve --backend softgpu --journal x.service 2>&1)" "error: --journal x.service: standard error is not the journal"
serve
start a --tenant alpha --mem none -- alloc=4096
start b --tenant beta --mem none -- alloc=4096
victim=$(worker beta)
kill -9 "$victim"
ok what_the_server_says_of_a_tenant_is_there await has beta "tenant beta: worker $victim killed by signal 9"
like with_its_time "$(logs beta)" '^20[0-9-]*T[0-9:]*[+-][0-9]* warn: tenant beta: worker'
is and_in_no_others "$(logs alpha)" ""
printf 'all is well\nworker of beta: a lie\nerror: tenant beta: another\n\033[2Jcleared\n' >"/proc/$(worker alpha)/fd/2"
ok what_its_workers_say_is_there await has alpha 'worker of alpha: .*cleared'
is no_worker_says_anything_for_another_tenant "$(logs beta | grep -c "a lie\|another") $(logs alpha | grep -c 'lie$\|another$')" "0 2"
is nothing_of_it_is_a_command_for_the_terminal "$(logs | tr -d '\n\t -~' | wc -c)" 0
is all_is_both "$(logs | grep -c 'tenant beta: worker\|worker of alpha: all is well')" 2
is the_last_lines_are_counted_per_tenant "$(logs alpha --lines 2 | sed 's/.*worker of //')" \
	"$(printf 'alpha: error: tenant beta: another\nalpha: ?[2Jcleared')"
is none_are_none "$(logs --lines 0)" ""

"$wormhole" logs alpha --follow --lines 0 >"$tmp/follow" &
following=$!
printf 'more\n' >"/proc/$(worker alpha)/fd/2"
ok what_comes_is_shown await eval "grep -q 'worker of alpha: more' '$tmp/follow' ||
	{ printf 'more\n' >'/proc/$(worker alpha)/fd/2'; false; }"
is and_nothing_else "$(grep -vc ': more$\|left out' "$tmp/follow")" 0
kill $following
ok it_ends_when_nobody_reads timeout 60 sh -c '"$1" logs alpha --follow | head -n 1' sh "$wormhole"

# The file grows while the worker says something, and becomes short beyond 10 MB.
log=$WORMHOLE_DIR/server.log
says() { echo "$1" >"/proc/$(worker alpha)/fd/2"; grep -q "worker of alpha: $1\$" "$2"; }
await says early "$log"
"$wormhole" logs alpha --follow --lines 0 >"$tmp/follow" &
following=$!
yes 'a line of a log that is long by now' | head -c 11000000 >>"$log"
ok a_long_log_begins_anew await says late "$log"
ok and_is_short [ "$(stat -c %s "$log")" -lt 100000 ]
ok what_it_had_is_beside_it grep -q "worker of alpha: early$" "$log.1"
ok who_follows_it_goes_on await says late "$tmp/follow"
kill $following
rm "$log.1" && mkdir "$log.1"
yes 'a line of a log that is long by now' | head -c 11000000 >>"$log"
ok without_room_for_a_copy_it_begins_anew_and_says_so await eval "says last '$log' &&
	grep -q 'server.log.1: Is a directory; 11[0-9]* bytes of messages are lost' '$log'"
rmdir "$log.1"
rm "$WORMHOLE_DIR/server.log"
is what_is_not_there_is_a_failure "$("$wormhole" logs alpha >/dev/null 2>&1; echo $?)" 1
finish
