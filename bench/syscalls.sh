#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Instructions of a system call that a call makes in its view, by each way: in place,
# by the gate at the client's LSTAR; handed on to the server's vCPU; without a gate.
# wormhole_gate_test in the emulated host, whose TSC counts instructions, the host's
# among them, on one processor. Baseline: the same call without a system call.
# usage: bench/syscalls.sh	(needs make images, and make -C kvm-patches/selftests)
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/bench/selftest.sh"
out=$WH_BUILD/bench/syscalls
rm -rf "$out"
selftest gate "$out" || { grep '^not ok' "$out/tap" >&2; exit 1; }
sed -n 's/^# \(with[a-z]* a gate: \)/\1/p' "$out/tap"
