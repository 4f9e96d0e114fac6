#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what `top` shows of tenants: figures, rates, order, any width, on a terminal
# and for scripts. VMs are in tests/cli/vms_test.sh.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

top() { "$wormhole" top --once --delay 0.1 "$@" </dev/null; }
# seen EXPRESSION evaluates an expression for one look, with the JSON in o and the tenants by name
# in t.
seen() {
	"$wormhole" top --once --json --delay "${delay:-0.1}" | /usr/bin/python3 -c \
		"import json,sys; o=json.load(sys.stdin); t={e['tenant']: e for e in o['tenants']}; print(($1))"
}
widest() { awk '{ if (length > most) most = length } END { print most + 0 }'; }
names() { sed -n '/^TENANT/,/^$/p' | sed '1d;/^$/d' | cut -d' ' -f1 | tr '\n' ' '; }
on_terminal() { /usr/bin/python3 "$WH_TOP/tests/tenant/terminal.py" "$@"; }
cpu() { control '{"op":"usage"}' | /usr/bin/python3 -c \
	"import json,sys; o=json.load(sys.stdin); print([e['cpu_ns'] for e in o['tenants'] if e['tenant'] == '$1'][0])"; }

plan 44
is without_a_server_it_fails "$(top >/dev/null 2>&1; echo $?)" 1
like and_says_how_to_start_one "$(top 2>&1)" "wormhole serve"
serve
"$wormhole" tenant create gamma
start a --tenant alpha --mem 64M --sm 50 -- alloc=1048576 launch=7
start b --tenant a-name-of-a-tenant-that-is-longer-than-a-column-can-be --mem none -- alloc=4194304
start c --tenant gamma -- launch=3

is json_has_each_tenant "$(seen "sorted(t)")" \
	"['a-name-of-a-tenant-that-is-longer-than-a-column-can-be', 'alpha', 'default', 'gamma']"
is launches_are_counted "$(seen "t['alpha']['launches'], t['gamma']['launches']")" "(7, 3)"
is memory_and_quota_are_there "$(seen "t['alpha']['memory'] >= 1048576, t['alpha']['memory_limit'], t['gamma']['memory_limit']")" \
	"(True, 67108864, None)"
is the_share_that_was_asked_for_is_there "$(seen "t['alpha']['sm_asked_percent'], t['alpha']['sm_policy'], t['gamma']['sm_asked_percent']")" \
	"(50, 'temporal', None)"
is and_what_it_got "$(seen "0 <= t['alpha']['sm_got_percent'] <= 100")" True
is requests_are_those_waited_for_and_others "$(seen "0 < t['gamma']['waited'] < t['gamma']['requests']")" True
is the_server_is_named_with_its_cpu "$(seen "o['server']['pid'], o['server']['cpu_ns'] > 0, 0 <= o['server']['cpu_percent'] < 100")" \
	"($(server), True, True)"
is workers_cpu_is_counted "$(seen "t['alpha']['cpu_ns'] > 0 and t['alpha']['cpu_percent'] >= 0")" True
is who_does_nothing_has_rates_of_zero "$(seen "t['gamma']['calls_per_s'], t['gamma']['launches_per_s']")" "(0, 0)"
"$wormhole" run --tenant gamma -- "$WH_BUILD/tests/tenant/bin/load" 1000000 1 >"$tmp/load" 2>&1 &
load=$!
await grep -q right "$tmp/load"
is who_does_something_has_rates "$(delay=1 seen "t['gamma']['calls_per_s'] > 0 and t['gamma']['launches_per_s'] > 0 and t['gamma']['bytes_to_device_per_s'] > 0")" True
used=$(cpu gamma)
kill $load
wait $load 2>/dev/null
ok workers_end_with_it await has_workers 3
is cpu_time_of_workers_that_have_ended_stays "$([ "$(cpu gamma)" -ge "$used" ] && echo yes)" yes

is eighty_columns_are_enough "$(COLUMNS=80 top | widest)" 80
is with_what_one_looks_for "$(COLUMNS=80 top | grep ^TENANT | tr -s ' ')" \
	"TENANT CALL/S REQ/S WAIT/S LNCH/S MEM QUOTA ASKED GOT THROT CPU"
is forty_keep_what_one_limits_by "$(COLUMNS=40 top | grep ^TENANT | tr -s ' ')" "TENANT CALL/S MEM QUOTA ASKED GOT"
like programs_have_their_users_and_commands "$(top | tr -s ' ' | grep '^ *[0-9]')" "$(pid a) $(id -un) client .* alpha"
is and_so_in_json "$(seen "t['alpha']['programs'][0]['client_pid'], t['alpha']['programs'][0]['client_user'], t['alpha']['programs'][0]['client_command']")" \
	"($(pid a), '$(id -un)', 'client')"
like a_long_name_is_cut_and_says_so "$(COLUMNS=80 top)" '^a-name-of-a-tena+ '
is two_hundred_are_kept "$([ "$(COLUMNS=200 top | widest)" -le 200 ] && echo yes)" yes
like and_used "$(COLUMNS=200 top)" '^TENANT .* PEAK REFUSED .* POLICY .* HOST-MEM .* THROTTLED'
is one_sorts_by_a_column "$(top --sort mem | names | cut -c1-24)" "a-name-of-a-tena+ alpha "
is or_the_other_way_round "$(top --sort -tenant | names | cut -c1-13)" \
	"gamma default"
"$wormhole" tenant create gamma-10
"$wormhole" tenant create gamma-9
is numbers_in_names_are_numbers "$(top --sort tenant | names | cut -d' ' -f4-)" "gamma gamma-9 gamma-10 "
"$wormhole" tenant delete gamma-10
"$wormhole" tenant delete gamma-9
is unknown_column_is_wrong_usage "$(top --sort weight >/dev/null 2>&1; echo $?)" 2
is scripts_get_no_colours "$(TERM=xterm top | grep -c "$(printf '\033')")" 0
is each_device_has_a_line "$(top --devices | awk '/^TENANT/ { print $2 } /^alpha/ { print $2 }' | tr '\n' ' ')" "DEV 0 "

is without_a_guarantee_nothing_is_said_of_any "$(COLUMNS=300 top | grep -c ' MAX \| CLASS\| BEYOND')" 0
"$wormhole" limit alpha --sm-max 80 --priority high
like a_ceiling_and_a_class_have_columns "$(COLUMNS=300 top | tr -s ' ' | grep '^alpha')" ' temporal 50% 80% high '
is and_are_in_json "$(seen "t['alpha']['sm_max_percent'], t['alpha']['priority'], t['gamma']['sm_max_percent'], t['gamma']['priority']")" \
	"(80, 'high', None, None)"
"$wormhole" limit alpha --sm-max none
like no_ceiling_is_none "$(COLUMNS=300 top | tr -s ' ' | grep '^alpha')" ' temporal 50% none high '
is still_eighty_columns_are_enough "$(COLUMNS=80 top | widest)" 80
"$wormhole" run --tenant eager --sm 1 --sm-max none -- "$WH_BUILD/tests/tenant/bin/load" 1000000 1 >/dev/null 2>&1 &
load=$!
ok time_beyond_the_guarantee_is_counted await eval '[ "$(seen "t[\"eager\"][\"gpu_beyond_ns\"] > 0")" = True ]'
is and_is_a_part_of_what_it_got "$(delay=1 seen "0 <= t['eager']['sm_beyond_percent'] <= t['eager']['sm_got_percent'], t['eager']['gpu_beyond_ns'] <= t['eager']['gpu_ns']")" \
	"(True, True)"
kill $load
wait $load 2>/dev/null
ok the_eager_tenant_ends_with_its_program await has_workers 3

# The server is stopped by a signal; top then shows what the files have.
halt "$(server)"
like a_server_that_hangs_is_not_waited_for "$(timeout 10 "$wormhole" top --once --delay 0.1)" 'the server does not answer'
kill -CONT "$(server)"

seen=$(on_terminal 80 24 'wait=alpha.*q quit' keys=m 'wait=\[1;7;4mMEM' keys=R 'wait=alpha.*q quit' \
	'keys=\x1b[C' 'wait=\[1;7;4mQUOTA' size=200x30 'wait=HOST-MEM' size=80x6 'wait=1-2 of 4' 'keys=\x1b[B' 'wait=2-3 of 4' \
	keys=d 'wait=DEV' keys=q -- "$wormhole" top --delay 0.2)
like keys_choose_the_column_and_its_width_is_the_terminals "$seen" '^status 0'
like what_has_no_room_is_scrolled_to "$seen" '2-3 of 4'
like the_terminal_is_left_as_it_was "$seen" '^terminal restored'
like also_by_a_signal "$(on_terminal 80 24 'wait=alpha' signal=15 -- "$wormhole" top | tr '\n' ' ')" 'status 0 terminal restored'
like stopped_it_leaves_the_terminal_and_comes_back "$(on_terminal 80 24 'wait=alpha' signal=20 'wait=\[\?1049l' signal=18 \
	'wait=\[\?1049h.*alpha' keys=q -- "$wormhole" top | tr '\n' ' ')" 'status 0 terminal restored'
like what_nobody_reads_ends "$(timeout 60 "$wormhole" top --delay 0.1 2>&1 | head -n 1)" '^wormhole '
is many_looks_are_an_object_a_line "$(timeout 60 "$wormhole" top --json --delay 0.1 | head -n 2 | /usr/bin/python3 -c \
	"import json,sys; print(len([json.loads(l) for l in sys.stdin]))")" 2
finish
