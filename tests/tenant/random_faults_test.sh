#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what happens when memory, processes and descriptors run out at random calls of
# serve, create, run, attach and export (faults.py), a few of each; `make soak` has all of them.
# faults_test.sh has disks that are full and descriptors that run out for good.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

plan 4
at_random "$WH_TOP/tests/tenant/faults.py" 5
is call_that_fails_is_named_and_leaves_nothing_behind $? 0
diag "$said"
ok and_many_did [ "$(echo "$said" | sed -n 's/^\([0-9]*\) faults: .*/\1/p')" -ge 50 ]
# This step makes a tenant that outlives the server, and it has few such calls: here are all.
# In memory, because the server waits for the disk at each change of a tenant that outlives it.
said=$(TMPDIR=/dev/shm WH_FAULT="create memory server" "$WH_TOP/tests/tenant/faults.py" all 0 2>&1)
is each_lack_of_memory_for_a_new_tenant_is_named $? 0
diag "$said"

# What a server lacks is named also where a server that sees another /run has the first users.
if unshare -m true 2>/dev/null && [ "$(id -u)" = 0 ]; then
	serve
	said=$(unshare -m sh -c 'mount -t tmpfs run /run && exec "$@"' sh env WH_FAULT="serve memory server" \
		"$WH_TOP/tests/tenant/faults.py" all 0 2>&1)
	is so_it_is_beside_a_server_with_the_same_users $? 0
	diag "$said"
else
	skip so_it_is_beside_a_server_with_the_same_users "no mount namespaces here"
fi
finish
