#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the KVM selftests of the series (kvm-patches/selftests, built as static
# programs) pass in the VMX host with WH_CPUS processors (1) and the kernel build/kernel/WH_KERNEL
# (host). Their TAP points are passed through. Arguments go to run_job.py (--args, --bochs,
# --kernel).
set -eu
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
build=${WH_BUILD:-$top/build}
cpus=${WH_CPUS:-1}
# One processor has five levels of page tables, two processors have not.
[ "$cpus" != 1 ] || export WH_FEATURES=${WH_FEATURES-la57}
kernel=${WH_KERNEL:-host}
out=${WH_OUT:-$build/bochs/kernel${kernel#host}-$cpus}
rm -rf "$out/job"
mkdir -p "$out/job/tests"
cp "$build"/selftests/wormhole_*_test "$out/job/tests/"
# The emulated machine has no source of random numbers, so the seed comes from here.
echo "export WH_SEED=${WH_SEED:-$(date +%s%N)}" >"$out/job/run"
cat >>"$out/job/run" <<'RUN'
. /job.sh
modprobe kvm_intel 2>/dev/null
for t in /job/tests/*; do
	tap "$(basename "$t")" "$t"
done
RUN
exec "$top/tests/bochs/run_job.py" --timeout 1200 --out "$out" --cpus "$cpus" \
	--kernel "$build/kernel/$kernel/bzImage" --initrd "$build/bochs/host.cpio" \
	"$@" "$out/job"
