#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures the instructions of a system call that a call makes in its view, by each way:
# answered in place behind the gate at the client's LSTAR; handed on to the server's vCPU;
# and without a gate. It runs wormhole_gate_test in the emulated host on one processor; its
# TSC counts instructions, including the host's. The baseline is the same call without a
# system call.
# usage: bench/syscalls.sh	(needs make images, and make -C kvm-patches/selftests)
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/bench/selftest.sh"
out=$WH_BUILD/bench/syscalls
rm -rf "$out"
selftest gate "$out" || { grep '^not ok' "$out/tap" >&2; exit 1; }
sed -n 's/^# \(with[a-z]* a gate: \)/\1/p' "$out/tap"
