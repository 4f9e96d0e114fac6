#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make demo`: boots the VMX host in Bochs with a server VM and a client VM in
# it, runs the example programs in the client VM, and prints what each cost. All three have
# Debian's own kernel. All that it boots was built before (make demo-images). `--tap`: as a
# test, on the minimal kernels (make images).
set -eu

: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
here=$WH_TOP/tests/bochs
if [ "${1:-}" = --tap ]; then
	tap=--tap
	every=20
	out=$WH_BUILD/bochs/programs${WH_CPUS:+-$WH_CPUS}
	: "${WH_CPUS:=1}"
	kernel=$WH_BUILD/kernel/host/bzImage
	driver=$here/device/server.list
	image=
else
	tap=
	every=5
	out=$WH_BUILD/bochs/demo
	export WH_KERNELS=debian
	kernel=$WH_BUILD/bochs/debian/vmlinuz
	driver=$here/device/debian.list
	image=$WH_BUILD/bochs/debian/demo.cpio
fi
# The test device's engine has a CPU of its own; without one it is left out.
: "${WH_CPUS:=2}"
export WH_CPUS
diagnostics() { if [ -n "$tap" ]; then sed -u 's/^/# /'; else cat; fi; }

device=
[ "$WH_CPUS" = 1 ] || device=$here/device
"$here/mkjob.sh" "$(basename "$out")" ${image:+--image "$image"} ${device:+--server "$driver"} \
	"$here/demo/client.list" ${device:+"$device/client.list"}
cp "$here/demo/run" "$out/job/run"
[ -z "$device" ] || cp "$WH_BUILD/bochs/device/engine" "$out/job/"
echo "# booting a VMX host with a server VM and a client VM" >&2
[ -n "$tap" ] ||
	echo "# all three boot Debian's own kernel $(cat "$WH_BUILD/bochs/debian/release"): nothing was changed but KVM's two modules in the host" >&2
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
