#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make demo` boots the VMX host in Bochs with a server VM and a client VM, runs the example
# programs in the client VM, and prints what each cost. All three machines boot Debian's own
# kernel, and all that they boot was built before (make demo-images here). With `--tap` the script
# is a test, which runs on the minimal kernels, or, with WH_KERNELS=debian, on Debian's.
set -eu

: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
here=$WH_TOP/tests/bochs
debian=$WH_BUILD/bochs/debian
image=
if [ "${1:-}" = --tap ]; then
	tap=--tap
	every=20
	: "${WH_KERNELS:=minimal}"
	out=$WH_BUILD/bochs/programs${WH_CPUS:+-$WH_CPUS}
	: "${WH_CPUS:=1}"
else
	tap=
	every=5
	WH_KERNELS=debian
	out=$WH_BUILD/bochs/demo
	image=$debian/demo.cpio
fi
if [ "$WH_KERNELS" = debian ]; then
	[ -z "$tap" ] || out=$WH_BUILD/bochs/programs-debian
	kernel=$debian/vmlinuz
	driver=$here/device/debian.list
else
	kernel=$WH_BUILD/kernel/host/bzImage
	driver=$here/device/server.list
fi
# The engine of the test device has a CPU of its own; on a host with one CPU the device is left
# out.
: "${WH_CPUS:=2}"
export WH_TOP WH_BUILD WH_KERNELS WH_CPUS
diagnostics() { if [ -n "$tap" ]; then sed -u 's/^/# /'; else cat; fi; }

device=
[ "$WH_CPUS" = 1 ] || device=$here/device
"$here/mkjob.sh" "$(basename "$out")" ${image:+--image "$image"} ${device:+--server "$driver"} \
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
"$here/demo/table.py" $tap $([ "$WH_KERNELS" != debian ] || echo --debian) --cpus "$WH_CPUS" "$out/data" "$(cat "$out/status")" || rc=1
[ $rc = 0 ] || [ -n "$tap" ] ||
	echo "the demo failed: $out/console is the host's console" >&2
exit $rc
