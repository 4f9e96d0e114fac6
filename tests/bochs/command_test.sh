#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what the `wormhole` command does with the kernel's control device, in the VMX
# host. The VMs are stock QEMUs that never run, because roles, identities and permissions need no
# guest.
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
out=$WH_BUILD/bochs/command
rm -rf "$out/job"
mkdir -p "$out/job"
cp "$WH_TOP/tests/bochs/command/run" "$out/job/run"
exec "$WH_TOP/tests/bochs/run_job.py" --timeout 600 --every 20 --out "$out" \
	--kernel "$WH_BUILD/kernel/host/bzImage" --initrd "$WH_BUILD/bochs/host.cpio" \
	"$out/job"
