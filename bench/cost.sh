#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures the cost of calls between VMs on this host
# (kvm-patches/selftests/x86_64/wormhole_cost_test.c): in cycles if the host has VMX and the
# series, as root; otherwise in instructions, in the emulated host. Prints the test's lines
# without their number signs.
# usage: bench/cost.sh	(needs make images, and make -C kvm-patches/selftests)
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/bench/selftest.sh"
out=$WH_BUILD/bench/cost
rm -rf "$out"
mkdir -p "$out"

if grep -qw vmx /proc/cpuinfo && [ -e /dev/kvm-wormhole ]; then
	"$WH_BUILD/selftests/wormhole_cost_test" >"$out/tap"
else
	selftest cost "$out"
fi || { grep '^not ok' "$out/tap" >&2; exit 1; }
sed -n 's/^# \(cost \|TSC \|an emulator\|cycles that\)/\1/p' "$out/tap"
