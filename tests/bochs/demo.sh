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
style=--plain
every=5
if [ "${1:-}" = --tap ]; then
	style=
	every=20
	out=$WH_BUILD/bochs/programs
fi

"$here/mkjob.sh" "$(basename "$out")" "$here/demo/client.list"
cp "$here/demo/run" "$out/job/run"
echo "# booting a VMX host with a server VM and a client VM" >&2
rc=0
# shellcheck disable=SC2086
"$here/run_job.py" $style --every $every --timeout 1200 --out "$out" \
	--kernel "$WH_BUILD/kernel/host/bzImage" --initrd "$WH_BUILD/bochs/host.cpio" \
	"$out/job" || rc=$?
[ -n "$style" ] || exit $rc
echo
"$here/demo/table.py" "$out/data" || rc=1
[ $rc = 0 ] || echo "the demo failed: $out/console is the host's console" >&2
exit $rc
