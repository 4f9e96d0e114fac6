#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the KVM selftests of the series (kvm-patches/selftests, built as static
# programs) in the VMX host. Their TAP points are passed through.
set -eu
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
build=${WH_BUILD:-$top/build}
out=$build/bochs/kernel
rm -rf "$out/job"
mkdir -p "$out/job/tests"
cp "$build"/selftests/wormhole_*_test "$out/job/tests/"
cat >"$out/job/run" <<'RUN'
. /job.sh
modprobe kvm_intel 2>/dev/null
for t in /job/tests/*; do
	tap "$(basename "$t")" "$t"
done
RUN
exec "$top/tests/bochs/run_job.py" --timeout 1200 --out "$out" \
	--kernel "$build/kernel/host/bzImage" --initrd "$build/bochs/host.cpio" \
	"$out/job"
