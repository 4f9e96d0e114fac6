#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that an ephemeral tenant can be deleted, without --force, while its program
# runs and has no worker. The tenant goes at once. Whatever kept the tenant (a descriptor, a
# child) does no harm when it ends later.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

# begin WORDS starts deleted.c as the program of the tenant idle. `end` ends the program, and with
# it whatever keeps the tenant.
begin() {
	rm -f "$tmp/idle.in" "$tmp/idle.out"
	mkfifo "$tmp/idle.in"
	"$wormhole" run --tenant idle --mem none -- "$WH_BUILD/tests/attack/bin/deleted" "$@" \
		<"$tmp/idle.in" >"$tmp/idle.out" 2>&1 9>&- &
	idle=$!
	exec 9>"$tmp/idle.in"
	await grep -q ready "$tmp/idle.out"
}
end() {
	exec 9>&-
	wait "$idle" 2>/dev/null
	await grep -q ended "$tmp/idle.out"
}
# serves shows that the same server process still serves. It runs two programs, because memory
# that was freed twice may be noticed only later.
serves() { echo "$("$wormhole" run --mem 1G -- "$client" alloc=4096 2>&1) $("$wormhole" run --mem 1G -- "$client" \
	alloc=4096 2>&1) $(server)"; }

plan 10
serve
before=$(server)
begin
is tenant_of_a_running_program_can_be_deleted "$("$wormhole" tenant delete idle 2>&1; echo $?)" 0
is and_leaves_no_file "$(files | grep -c idle)" 0
like it_cannot_be_deleted_twice "$("$wormhole" tenant delete idle 2>&1)" "no tenant 'idle'"
end
is its_programs_end_does_no_harm "$(serves)" "ok ok $before"

# harmless NAME WORDS... deletes the tenant and ends its program as above, with another way to
# keep the tenant.
harmless() {
	point=$1
	shift
	begin "$@"
	"$wormhole" tenant delete idle
	end
	is "$point" "$(serves)" "ok ok $before"
}
harmless nor_of_one_that_has_closed_all_descriptors close
harmless nor_of_a_child_that_has_them child
begin
"$wormhole" tenant delete idle
kill -KILL "$idle"
wait "$idle" 2>/dev/null
exec 9>&-
is nor_does_its_death "$(serves)" "ok ok $before"

# The tenant's name is free again while the program of the deleted tenant still runs.
begin
"$wormhole" tenant delete idle
"$wormhole" tenant create idle --mem 64M
end
is end_of_a_deleted_tenants_program_spares_its_namesake "$("$wormhole" run --tenant idle -- "$client" alloc=4096) $(server)" \
	"ok $before"
await has_workers 0
ok namesake_is_there_still "$wormhole" tenant delete idle
is nothing_is_left "$(files | tr '\n' ' ')" "default.limits default.usage turns "
finish
