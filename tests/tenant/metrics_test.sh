#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what `metrics` says of tenants, on standard output, in a file and on sockets.
# promtool is Prometheus' own checker (tools/get-promtool.sh). VMs are in tests/cli/vms_test.sh.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

metric() { "$wormhole" metrics | sed -n "s/^$1 //p"; }
http() { /usr/bin/python3 "$WH_TOP/tests/tenant/http.py" "$@"; }
user=$(id -un)
status() { "$wormhole" metrics "$@" >/dev/null 2>&1; echo $?; }

plan 45
is without_a_server_it_is_down "$(metric wormhole_up)" 0
export FAKE_NVML="$tmp/lines" FAKE_NVML_UUID="$("$wormhole" serve --backend softgpu --daemon >"$tmp/serve" 2>&1 &&
	control '{"op":"info"}' | grep -o 'GPU-[0-9a-f-]*'; "$wormhole" stop)"
: >"$FAKE_NVML"
serve --nvml "$WH_BUILD/tests/tenant/bin/fake_nvml.so"
start a --tenant alpha --mem 64M --sm 50 -- alloc=1048576 copy=8388608 launch=7
start b --tenant beta --mem none -- launch=3

"$wormhole" tenant create theirs --user nobody
ok the_driver_is_asked await eval '"$wormhole" metrics | grep -q "^wormhole_device_power"'
"$wormhole" metrics >"$tmp/metrics"
is a_tenant_has_its_user "$(metric 'wormhole_workers{tenant="theirs",user="nobody"}')" 0
device='{device="0",name="Wormhole softgpu"'
is devices_have_the_drivers_figures "$(sed -n "s/^wormhole_device_\(memory_used\|temp\|pow\|ecc\)[a-z_]*$device//p" "$tmp/metrics" | tr '\n' ';')" \
	'} 5368709120;} 61;} 123.456;,kind="corrected"} 3;,kind="uncorrected"} 1;'
like and_top_has_them "$(COLUMNS=200 "$wormhole" top --once --delay 0.1)" 'device 0: .* in use 5.0G  61 C  123 W  ECC errors 1'
if [ -x "$WH_BUILD/promtool" ]; then
	is promtool_finds_nothing "$("$WH_BUILD/promtool" check metrics <"$tmp/metrics" 2>&1; echo $?)" 0
	is promtool_finds_what_is_wrong "$(sed 's/^wormhole_up 1/wormhole_up one/' "$tmp/metrics" |
		"$WH_BUILD/promtool" check metrics >/dev/null 2>&1; echo $?)" 1
else
	skip promtool_finds_nothing "no build/promtool: tools/get-promtool.sh"
	skip promtool_finds_what_is_wrong "no build/promtool: tools/get-promtool.sh"
fi
is with_one_it_is_up "$(metric wormhole_up)" 1
is memory_has_its_limit "$(metric 'wormhole_memory_limit_bytes{tenant="alpha",user="'$user'",device="0"}')" 67108864
is what_has_no_limit_has_no_series "$(grep -c '_limit_.*"beta",.*device' "$tmp/metrics")" 0
is a_share_is_a_ratio "$(metric 'wormhole_sm_limit_ratio{tenant="alpha",user="'$user'",device="0"}')" 0.50
of_alpha='{tenant="alpha",user="'$user'",device="0"'
is a_hard_share_is_a_ceiling "$(metric "wormhole_sm_ceiling_ratio$of_alpha}")" 0.50
is a_class_is_a_label "$(metric "wormhole_sm_class$of_alpha,class=\"normal\"}")" 1
is nothing_was_beyond_a_hard_share "$(metric "wormhole_gpu_beyond_seconds_total$of_alpha}")" 0.000000000
"$wormhole" limit alpha --sm-max 80 --priority low
is a_ceiling_is_a_ratio_too "$(metric "wormhole_sm_ceiling_ratio$of_alpha}")" 0.80
is another_class_is_another_label "$(metric "wormhole_sm_class$of_alpha,class=\"low\"}")" 1
"$wormhole" limit alpha --sm-max none
is without_a_ceiling_there_is_no_series "$("$wormhole" metrics | grep -c '^wormhole_sm_ceiling_ratio.*"alpha"')" 0
is nor_a_class_without_a_share "$("$wormhole" metrics | grep -c '^wormhole_sm_class.*"beta"')" 0
is launches_are_counted "$(metric 'wormhole_launches_total{tenant="alpha",user="'$user'",device="0"}')" 7
is copies_have_their_direction "$(metric 'wormhole_copied_bytes_total{tenant="alpha",user="'$user'",direction="to_device"}')" 8388608
like requests_say_who_waits "$(metric 'wormhole_requests_total{tenant="beta",user="'$user'",kind="posted"}')" '^[1-9]'
like workers_cpu_is_in_seconds "$(metric 'wormhole_cpu_seconds_total{tenant="alpha",user="'$user'"}')" '^[0-9]*\.[0-9]\{9\}$'
like and_the_servers "$(metric wormhole_server_cpu_seconds_total)" '^[0-9]*\.[0-9]\{9\}$'
is every_metric_has_its_type "$(awk '/^# TYPE/ { t[$3] = 1 } /^wormhole/ { sub(/[{ ].*/, ""); if (!($0 in t)) print }' \
	"$tmp/metrics")" ""
is the_document_has_all_of_them "$(awk '/^# TYPE/ { print $3 }' "$tmp/metrics" | grep -v '_vm_' | while read -r m; do
	grep -q "^| \`$m\`" "$WH_TOP/docs/operations.md" || echo "$m"; done)" ""
is and_no_others "$(sed -n 's/^| `\(wormhole_[a-z_]*\)`.*/\1/p' "$WH_TOP/docs/operations.md" | while read -r m; do
	grep -q "^# TYPE $m " "$tmp/metrics" || echo "$m"; done)" ""

"$wormhole" metrics --output "$tmp/w.prom"
is a_file_has_the_same "$(grep -v seconds "$tmp/w.prom")" "$("$wormhole" metrics | grep -v seconds)"
is and_others_may_read_it "$(stat -c %a "$tmp/w.prom")" 644
exec 9<"$tmp/w.prom"
"$wormhole" metrics --output "$tmp/w.prom"
is who_reads_it_meanwhile_reads_it_whole "$(tail -n 1 <&9)" "$(tail -n 1 "$tmp/w.prom")"
exec 9<&-
echo mine >"$tmp/victim"
sh -c 'ln -s "$1/victim" "$1/.w.prom.$$"; exec "$2" metrics --output "$1/w.prom"' - "$tmp" "$wormhole"
is a_link_that_somebody_laid_there_is_not_followed "$(cat "$tmp/victim")" mine
is nothing_else_is_left "$(find "$tmp" -maxdepth 1 -name '.*.prom*' | wc -l)" 0
is a_file_that_cannot_be_written_is_a_failure "$(status --output "$tmp/nowhere/w.prom")" 1
like and_the_folder_is_named "$("$wormhole" metrics --output "$tmp/nowhere/w.prom" 2>&1)" "nowhere/w.prom': there is no such folder; make it"
like a_device_is_not_replaced "$("$wormhole" metrics --output /dev/null 2>&1)" "'/dev/null': a device or a pipe; without --output"
is another_machines_address_is_wrong_usage "$(status --listen 0.0.0.0:9100)" 2
is so_is_how_often_without_a_file "$(status --every 5)" 2

port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$wormhole" metrics --listen "$port" --listen "unix:$tmp/m.sock" --output "$tmp/again.prom" --every 1 \
	2>"$tmp/listening" &
listening=$!
ok it_listens await test -S "$tmp/m.sock"
is a_port_of_this_machine_answers "$(http "$port" GET)" "GET 200 OK metrics whole in time"
is a_socket_too "$(http "$tmp/m.sock" GET)" "GET 200 OK metrics whole in time"
is which_is_its_users "$(stat -c %a "$tmp/m.sock")" 600
is other_requests_get_their_errors "$(http "$port" HEAD GET:/metrics?x=1 GET:/ POST garbage long | cut -d' ' -f1-3 | tr '\n' ';')" \
	"HEAD 200 OK;GET:/metrics?x=1 200 OK;GET:/ 404 Not;POST 405 Method;garbage 400 Bad;long 431 Request;"
is who_says_nothing_holds_nobody_up "$(http "$port" silent GET)" "GET 200 OK metrics whole in time"
is nor_do_a_thousand "$(http "$port" crowd GET crowd GET)" "$(printf "GET 200 OK metrics whole in time\n%.0s" 1 2)"
first=$(stat -c %i "$tmp/again.prom")
ok the_file_is_written_again await eval "[ \$(stat -c %i '$tmp/again.prom') != $first ]"
kill $listening
wait $listening
is ended_it_leaves_no_socket "$? $(ls "$tmp/m.sock" 2>/dev/null)" "0 "
finish
