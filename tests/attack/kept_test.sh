#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that memory which a program shared with ended workers, and still keeps, counts
# for its tenant until nobody has it any more.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

M=1048576
of_ended() { field greedy "t['host_memory_of_ended'] // $M"; }
serve
"$wormhole" tenant create greedy --host-mem 100M
"$wormhole" run --tenant greedy -- "$WH_BUILD/tests/attack/bin/kept" >"$tmp/said" 2>&1
take_over "$tmp/said" 14 21
await has_workers 0
ok nothing_is_held_when_it_has_ended await field_is greedy "t['host_memory'], t['host_memory_of_ended']" "(0, 0)"

# Pages that a program splices into sockets are in no file any more. The tenant's cgroup has them.
if grep -q '^memory on' "$WORMHOLE_DIR/protection"; then
	"$wormhole" run --tenant greedy -- "$WH_BUILD/tests/attack/bin/kept" sockets >"$tmp/said" 2>&1
	in_sockets=$(head -n 1 "$tmp/said")
	ok of_pages_in_sockets_it_has_some_and_no_more_than_its_limit \
		eval '[ "$in_sockets" -ge 20 ] && [ "$in_sockets" -le 100 ]'
	diag "$in_sockets MiB"
	is and_has_all_again_when_they_are_gone "$(sed -n 2p "$tmp/said")" free
else
	skip of_pages_in_sockets_it_has_some_and_no_more_than_its_limit "no cgroup for memory"
	skip and_has_all_again_when_they_are_gone "no cgroup for memory"
fi
await field_is greedy "t['host_memory'], t['host_memory_of_ended']" "(0, 0)"

# The worker of a program is killed. The memory that the program pinned keeps its contents, and
# its tenant still pays for it.
start one --tenant greedy -- pin=$((80 * M)) fill=$((80 * M))
kill -9 "$(workers)"
await has_workers 0
ok what_a_program_has_of_its_dead_worker_counts [ "$(of_ended)" -ge 80 ]
is others_of_its_tenant_have_the_rest "$("$wormhole" run --tenant greedy -- "$client" pin=$((16 * M)))" CUDA_ERROR_OUT_OF_MEMORY
is other_tenants_have_theirs "$("$wormhole" run --host-mem 100M -- "$client" pin=$((80 * M)))" ok
finish_client one
ok until_it_ends await field_is greedy "t['host_memory']" 0
finish
