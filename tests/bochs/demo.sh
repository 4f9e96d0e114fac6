#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make demo`: boots the VMX host in Bochs with a server VM and a client VM in
# it, runs the example programs in the client VM, and prints what each cost.
# All that it boots was built before (make images). `--tap`: as a test.
set -eu

: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
here=$WH_TOP/tests/bochs
out=$WH_BUILD/bochs/demo
every=5
tap=
if [ "${1:-}" = --tap ]; then
	tap=--tap
	every=20
	out=$WH_BUILD/bochs/programs${WH_CPUS:+-$WH_CPUS}
fi
diagnostics() { if [ -n "$tap" ]; then sed -u 's/^/# /'; else cat; fi; }

"$here/mkjob.sh" "$(basename "$out")" "$here/demo/client.list"
cp "$here/demo/run" "$out/job/run"
echo "# booting a VMX host with a server VM and a client VM" >&2
rm -f "$out/data" "$out/status"
{
	rc=0
	"$here/run_job.py" --plain --every $every --timeout 1200 --out "$out" \
		--kernel "$WH_BUILD/kernel/host/bzImage" \
		--initrd "$WH_BUILD/bochs/host.cpio" "$out/job" || rc=$?
	echo $rc >"$out/status"
} | diagnostics
[ -n "$tap" ] || echo
rc=0
"$here/demo/table.py" $tap "$out/data" "$(cat "$out/status")" || rc=1
[ $rc = 0 ] || [ -n "$tap" ] ||
	echo "the demo failed: $out/console is the host's console" >&2
exit $rc
