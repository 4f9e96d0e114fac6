#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises who may count by the hardware's counters: tenants to which the administrator has
# given it, for as long as that, and what is said of it. The fake CUPTI would count for anybody.
. "$WH_TOP/tests/tenant/lib.sh"
bin=$WH_BUILD/tests/lib/bin
export WORMHOLE_CUPTI="$bin/fake_cupti.so" LD_LIBRARY_PATH="$WH_BUILD/client-stubs" WORMHOLE_WORKER_UID=none
denied=35 # CUPTI_ERROR_INSUFFICIENT_PRIVILEGES

may() { "$wormhole" run "$@" -- "$bin/cupti_counters" may 2>"$tmp/err"; }
says() {
	"$wormhole" stat --json | "${PYTHON:-/usr/bin/python3}" -c 'import json, sys
print(*[t["counters"] for t in json.load(sys.stdin) if t["tenant"] == sys.argv[1]])' "$1"
}
answers() { [ "$(wc -l <"$tmp/toggle.out")" -ge "$1" ]; }
# next N asks the running program for its Nth answer, and prints it.
next() {
	echo >&9
	await answers "$1"
	sed -n "$1p" "$tmp/toggle.out"
}

plan 17
serve
is nobody_may_count_unless_it_is_said "$(may)" "$denied"
like who_may_not_is_told_by_name "$(WORMHOLE_LOG=1 "$wormhole" run -- "$bin/cupti_counters" may 2>&1)" \
	"cuptiProfilerInitialize is not supported"
"$wormhole" tenant create lab >/dev/null
is neither_may_a_created_tenant "$(may --tenant lab)" "$denied"
is stat_says_so "$(says lab)" False

mkfifo "$tmp/toggle.in"
"$wormhole" run --tenant lab -- "$bin/cupti_counters" toggle <"$tmp/toggle.in" >"$tmp/toggle.out" 2>&1 &
exec 9>"$tmp/toggle.in"
await answers 1
"$wormhole" limit lab --counters
is a_running_program_gets_it_at_its_next_call "$(next 2)" 0
is stat_says_that_it_may "$(says lab)" True
is others_still_may_not "$(may)" "$denied"
"$wormhole" limit lab --mem 1G
is another_limit_leaves_it "$(next 3)" 0
"$wormhole" limit lab --no-counters
is a_running_program_loses_it_at_its_next_call "$(next 4)" "$denied"
exec 9>&-
wait

is a_program_with_limits_may_if_that_is_said "$(may --mem 1G --counters)" 0
"$wormhole" tenant create other --counters >/dev/null
is so_may_a_tenant_that_is_created_with_it "$(may --tenant other)" 0
like it_stands_in_what_is_exported "$("$wormhole" tenant export other 2>&1)" "counters = yes"
like a_window_has_no_counters "$("$wormhole" limit 1/window0 --counters 2>&1)" "a window has no --counters"
"$wormhole" stop --force >/dev/null

mkdir "$tmp/conf"
chmod 755 "$tmp/conf"
printf '[file]\ncounters = yes\n' >"$tmp/conf/a.conf"
export FAKE_CUPTI_DENIES=1 WORMHOLE_WORKER_ENV=FAKE_CUPTI_DENIES
serve --counters --tenants "$tmp/conf"
is the_drivers_own_refusal_comes_back "$(may)" "$denied"
like and_the_log_says_whose_it_is "$(cat "$WORMHOLE_DIR/server.log")" "NVreg_RestrictProfilingToAdminUsers"
is a_tenant_of_a_file_may "$(says file)" True
"$wormhole" stop --force >/dev/null
printf '[file]\ncounters = no\n' >"$tmp/conf/a.conf"
serve --counters --tenants "$tmp/conf"
is and_not_when_the_file_says_no "$(says file)" False
"$wormhole" stop --force >/dev/null
finish
