#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What calls between VMs cost on this host (kvm-patches/selftests/x86_64/wormhole_cost_test.c): in
# cycles where it has VMX and the series, as root; else in the emulated one, in instructions. Prints
# the test's lines without their number signs.
# usage: bench/cost.sh	(needs make images, and make -C kvm-patches/selftests)
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
test=$WH_BUILD/selftests/wormhole_cost_test
out=$WH_BUILD/bench/cost
rm -rf "$out"
mkdir -p "$out/job"

emulated() {
	cp "$test" "$out/job/"
	cat >"$out/job/run" <<'RUN'
. /job.sh
modprobe kvm_intel 2>/dev/null
tap cost /job/wormhole_cost_test
RUN
	"$WH_TOP/tests/bochs/run_job.py" --timeout 300 --out "$out" --cpus 1 \
		--kernel "$WH_BUILD/kernel/host/bzImage" --initrd "$WH_BUILD/bochs/host.cpio" \
		"$out/job" >"$out/tap"
}

if grep -qw vmx /proc/cpuinfo && [ -e /dev/kvm-wormhole ]; then
	"$test" >"$out/tap"
else
	emulated
fi || { grep '^not ok' "$out/tap" >&2; exit 1; }
sed -n 's/^# \(cost \|TSC \|an emulator\|cycles that\)/\1/p' "$out/tap"
