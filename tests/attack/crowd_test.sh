#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that processes and files in /dev/shm, of which any user can make many, do not
# slow down the server: while tenants and their workers come and go, the server reads no list of
# either.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

command -v strace >/dev/null || skip_all "no strace here"
plan 4
serve
strace -qq -e trace=getdents64,getdents -y -o "$tmp/trace" -p "$(server)" 2>"$tmp/strace" &
tracer=$!
if ! await grep -q '^TracerPid:[^0-9]*[1-9]' "/proc/$(server)/status"; then
	for p in program_with_limits_is_served tenant_comes_and_goes no_list_of_processes_was_read \
		nor_of_files_of_all_users; do
		skip $p "nobody may be traced here: $(tail -n 1 "$tmp/strace")"
	done
	finish
fi
is program_with_limits_is_served "$("$wormhole" run --mem 64M -- "$client" alloc=4096)" ok
"$wormhole" tenant create a --mem 64M
start a --tenant a -- alloc=4096
finish_client a
await has_workers 0
is tenant_comes_and_goes "$("$wormhole" tenant delete a && files | grep -c '^a\.')" 0
kill "$tracer"
wait "$tracer" 2>/dev/null
is no_list_of_processes_was_read "$(grep -c '</proc>' "$tmp/trace")" 0
is nor_of_files_of_all_users "$(grep -c '</dev/shm>' "$tmp/trace")" 0
finish
