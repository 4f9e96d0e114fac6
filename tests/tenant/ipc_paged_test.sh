#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what ipc_test.sh does, of the allocations that workers make under overcommit, which
# the driver's own handles of memory do not know.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
IPC_OPTIONS=--overcommit=30 exec sh "$WH_BUILD/tests/tenant/ipc.t"
