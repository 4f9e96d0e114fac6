#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what `stat` shows of tenants, and that it shows it without asking the server.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

plan 19
serve
start a --tenant alpha --mem 64M --sm 50 -- alloc=1048576 copy=8388608
is json_is_an_array_of_tenants "$("$wormhole" stat --json |
	/usr/bin/python3 -c 'import json,sys; print([t["tenant"] for t in json.load(sys.stdin)])')" "['alpha', 'default']"
is charged_memory_is_shown "$(field alpha "d['memory'] >= 1048576")" True
is peak_stays_when_memory_is_freed "$(field alpha "d['memory_peak'] >= d['memory'] + 8388608 - 2 * 1048576")" True
is copies_are_counted "$(field alpha "t['bytes_to_device'], t['bytes_from_device']")" "(8388608, 8388608)"
is calls_are_counted "$(field alpha "t['calls'] > 4 and t['crossings'] >= 4")" True
like table_has_a_line_for_each "$("$wormhole" stat | tr -s ' ' | tr '\n' ';')" \
	"^TENANT DEV WORK .*;alpha 0 1 .* 64.0M .* temporal 50% .*;default 0 0 "
is its_columns_are_those_of_top "$("$wormhole" stat | sed -n '1s/  */\n/gp' |
	grep -vxF "$(COLUMNS=400 "$wormhole" top --once --devices | grep ^TENANT | tr -s ' ' '\n')")" ""
like a_program_has_its_user_and_command "$("$wormhole" stat | tr -s ' ' | grep '^ ')" "^ $(pid a) $(id -un) client .* alpha\$"
is and_so_in_json "$(field alpha "t['workers'][0]['client_pid'], t['workers'][0]['client_user'], t['workers'][0]['client_command']")" \
	"($(pid a), '$(id -un)', 'client')"
widest() { awk '{ if (length > most) most = length } END { print most + 0 }'; }
is a_narrow_terminals_table_fits "$(COLUMNS=40 "$wormhole" stat | sed '/:/d' | widest)" 40
is and_has_what_one_limits_by "$(COLUMNS=40 "$wormhole" stat | grep ^TENANT | tr -s ' ')" "TENANT DEV WORK MEM QUOTA ASKED GOT"
# The program's name is its own: control characters, and no letters.
/usr/bin/python3 -c 'import os,sys
os.symlink(sys.argv[1], sys.argv[2] + "/\x1b[31me\nvil")' "$client" "$tmp"
evil="$tmp/$(printf '\033[31me\nvil')"
mkfifo "$tmp/evil.in"
"$wormhole" run --tenant evil --mem none -- "$evil" ready wait <"$tmp/evil.in" >"$tmp/evil.out" 2>&1 &
evil=$!
exec 9>"$tmp/evil.in"
await grep -q ready "$tmp/evil.out"
is a_programs_words_reach_no_terminal "$("$wormhole" stat | tr -s ' ' | sed -n 's/^ '$evil' [^ ]* //p' | cut -d' ' -f1) \
$("$wormhole" stat evil | grep -c "$(printf '\033')")" "?[31me?vil 0"
exec 9>&-
wait $evil

start big --tenant big --mem none -- alloc=1048576 alloc=4611686018427387904
held=$(field big "d['memory']")
is what_was_asked_for_and_refused_is_no_peak "$(said big) $(field big "d['memory_peak'] <= $((held + 2097152))")" \
	"ok CUDA_ERROR_OUT_OF_MEMORY  True"
finish_client big

# The server is stopped by a signal; commands that only read do not ask it.
halt "$(server)"
is reading_needs_no_server_that_answers "$(timeout 10 "$wormhole" stat --json alpha |
	grep -c '"tenant":.*"alpha"')" 1
kill -CONT "$(server)"

is watch_looks_again "$(timeout 60 "$wormhole" stat --watch 1 alpha | awk '/^alpha/ { print; if (++n == 2) exit }' |
	wc -l)" 2
# This machine has no VMs of ours, and something else has the device's name.
if unshare -m true 2>/dev/null; then
	is without_vms_their_device_is_not_asked "$(unshare -m sh -c 'mount -t tmpfs dev /dev && mknod /dev/null c 1 3 &&
		mknod /dev/kvm-wormhole c 1 3 && exec "$@"' - "$wormhole" stat 2>&1 | grep -c -e '^alpha ' -e error)" 1
else
	skip without_vms_their_device_is_not_asked "no mount namespaces here"
fi
pid=$(field alpha "t['workers'][0]['pid']")
finish_client a
ok ended_tenant_is_not_shown await eval '! "$wormhole" stat --json | grep -q alpha'
ok and_its_worker_is_gone gone "$pid"
like unknown_tenant_is_named "$("$wormhole" stat nobody 2>&1)" "no tenant 'nobody'"
finish
