#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make demo`: boots the VMX host in Bochs with a server VM and a client VM in
# it, runs the example programs in the client VM, and prints what each cost.
# All that it boots was built before (make images). `--tap`: as a test. WH_KERNELS=debian: all
# three have Debian's own kernel (`make demo-debian`).
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
	: "${WH_CPUS:=1}"
fi
kernel=$WH_BUILD/kernel/host/bzImage
if [ "${WH_KERNELS:-}" = debian ]; then
	out=$WH_BUILD/bochs/demo-debian
	kernel=$WH_BUILD/bochs/debian/vmlinuz
	# The test device's driver is made for the server's own kernel.
	WH_CPUS=1
	echo "# host, server VM and client VM boot Debian's own kernel: nothing of it was changed but KVM's modules in the host" >&2
fi
# The test device's engine has a CPU of its own; without one it is left out.
: "${WH_CPUS:=2}"
export WH_CPUS
diagnostics() { if [ -n "$tap" ]; then sed -u 's/^/# /'; else cat; fi; }

device=
if [ "$WH_CPUS" -gt 1 ]; then
	device=$here/device
fi
"$here/mkjob.sh" "$(basename "$out")" ${device:+--server "$device/server.list"} \
	"$here/demo/client.list" ${device:+"$device/client.list"}
cp "$here/demo/run" "$out/job/run"
[ -z "$device" ] || cp "$WH_BUILD/bochs/device/engine" "$out/job/"
echo "# booting a VMX host with a server VM and a client VM" >&2
rm -f "$out/data" "$out/status"
{
	rc=0
	"$here/run_job.py" --plain --every $every --timeout 1200 --out "$out" \
		--kernel "$kernel" \
		--initrd "$WH_BUILD/bochs/host.cpio" "$out/job" || rc=$?
	echo $rc >"$out/status"
} | diagnostics
[ -n "$tap" ] || echo
rc=0
"$here/demo/table.py" $tap --cpus "$WH_CPUS" "$out/data" "$(cat "$out/status")" || rc=1
[ $rc = 0 ] || [ -n "$tap" ] ||
	echo "the demo failed: $out/console is the host's console" >&2
exit $rc
