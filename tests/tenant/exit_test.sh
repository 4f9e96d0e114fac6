#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises exit statuses as the man page has them: 0 done, 1 failed, 2 wrong usage, or
# the program's own. Output that is said to be JSON is JSON.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

status() { "$wormhole" "$@" >/dev/null 2>&1 </dev/null; echo $?; }
# commands prints each command that parses options, as completion has it.
commands() { "$wormhole" completion bash | sed -n "s/^_wormhole_options\['wormhole \(.*\)'\]=.*/\1/p"; }
all_give() {
	wanted=$1
	shift
	commands | while read -r c; do
		# shellcheck disable=SC2086
		[ "$(status $c "$@")" = "$wanted" ] || echo "$c"
	done
}
is_json() { "$wormhole" "$@" 2>/dev/null | /usr/bin/python3 -c 'import json,sys; json.load(sys.stdin)' 2>&1 | tail -n 1; }

plan 19
is there_are_commands "$([ "$(commands | wc -l)" -ge 20 ] && echo yes)" yes
is help_is_done "$(all_give 0 --help)" ""
is unknown_option_is_wrong_usage "$(all_give 2 --no-such-option)" ""
is too_many_arguments_are_wrong_usage "$(status top x) $(status metrics x) $(status stop x) $(status check vms x)" "2 2 2 2"
is nothing_to_do_is_wrong_usage "$(status) $(status tenant) $(status run) $(status limit a) $(status completion)" "2 2 2 2 2"
failed=
for c in stop "tenant list" "tenant create a" "tenant delete a" "limit a --mem 1G" "stat a" "run true" "trace a true" \
	"top --once" "logs"; do
	# shellcheck disable=SC2086
	[ "$(status $c)" = 1 ] || failed="$failed;$c"
done
is without_a_server_they_fail "$failed" ""
is metrics_say_that_it_is_down "$(status metrics)" 0
is so_it_is_for_checks "$(status check programs) $(status version)" "0 0"

serve
"$wormhole" tenant create team >/dev/null
is with_one_they_are_done "$(status tenant list) $(status limit team --mem 1G) $(status stat) $(status top --once --delay 0.1) $(status logs)" \
	"0 0 0 0 0"
is who_is_unknown_is_a_failure "$(status limit nobody --mem 1G) $(status stat nobody) $(status tenant delete nobody) $(status logs nobody)" \
	"1 1 1 1"
is run_gives_the_programs_own "$(status run sh -c 'exit 7') $(status run true)" "7 0"
is and_its_signal "$(status run sh -c 'kill -9 $$')" 137
is program_that_is_not_there_is_a_failure "$(status run /nonexistent)" 127
is trace_gives_the_commands_own "$(status trace team --output "$tmp/t.json" sh -c 'exit 9')" 9
is output_that_cannot_be_written_is_a_failure "$("$wormhole" metrics >/dev/full 2>/dev/null; echo $?)" 1

for c in check stat "top --once --delay 0.1" "tenant list"; do
	# shellcheck disable=SC2086
	is "json_of_$(echo "$c" | cut -d' ' -f1-2 | tr -d - | tr ' ' _)_is_json" "$(is_json $c --json)" ""
done
finish
