#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what happens when memory, processes and descriptors run out at random calls of
# serve, create, run, attach and export (faults.py), a few of each; `make soak` has all of them.
# faults_test.sh has disks that are full and descriptors that run out for good.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

plan 3
at_random "$WH_TOP/tests/tenant/faults.py" 5
is call_that_fails_is_named_and_leaves_nothing_behind $? 0
diag "$said"
ok and_many_did [ "$(echo "$said" | sed -n 's/^\([0-9]*\) faults: .*/\1/p')" -ge 50 ]
# This step makes a tenant that outlives the server, and it has few such calls: here are all.
said=$(WH_FAULT="create memory server" "$WH_TOP/tests/tenant/faults.py" all 0 2>&1)
is each_lack_of_memory_for_a_new_tenant_is_named $? 0
diag "$said"
finish
