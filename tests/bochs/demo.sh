#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make demo`: boots the VMX host in Bochs with a server VM and a client VM in
# it, runs the example programs in the client VM, and prints what each cost.
# All that it boots was built before (make images).
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
WH_TOP=$top
WH_BUILD=${WH_BUILD:-$top/build}
export WH_TOP WH_BUILD
here=$top/tests/bochs
out=$WH_BUILD/bochs/demo

"$here/mkjob.sh" demo "$here/demo/client.list"
cp "$here/demo/run" "$out/job/run"
echo "  BOCHS    a VMX host with a server VM and a client VM"
rm -f "$out/data"
rc=0
"$here/run_job.py" --plain --every 5 --timeout 900 --out "$out" \
	--kernel "$WH_BUILD/kernel/host/bzImage" --initrd "$WH_BUILD/bochs/host.cpio" \
	"$out/job" || rc=$?
echo
"$here/demo/table.py" "$out/data" || rc=1
[ $rc = 0 ] || echo "the demo failed: $out/console is the host's console" >&2
exit $rc
