#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a kernel cannot reach its worker's own memory. The exception is a driver
# that lets kernels reach their whole process (HMM): then the server says so when it starts.
. "$(dirname "$0")/lib.sh"

reach() { ATTACK_SERVER=$server "$WH_BUILD/tests/attack/bin/kernel_reach" "$1" 2>&1; }

[ "$(id -u)" = 0 ] || skip_all "needs root to look into the worker"
plan 6
start_server --part-size 16M
is kernel_does_not_read_its_worker "$(reach read)" "read 700 not seen"
is kernel_does_not_write_to_its_worker "$(reach write)" "write 700 not seen"
! grep -q HMM "$tmp/server.err"
point server_has_nothing_to_say || sed 's/^/# /' "$tmp/server.err"
stop_server

export WORMHOLE_SOFTGPU_HMM=1
start_server --part-size 16M
grep -q "^wormhole: warn: device 0: kernels reach all memory of their worker.*uvm_disable_hmm=1" "$tmp/server.err"
point server_says_what_hmm_means || sed 's/^/# /' "$tmp/server.err"
is with_hmm_a_kernel_reads_its_worker "$(reach read)" "read 0 seen"
is with_hmm_a_kernel_writes_to_its_worker "$(reach write)" "write 0 seen"
