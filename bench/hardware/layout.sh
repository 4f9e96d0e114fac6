#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lays out the job of the hardware image in build/bochs/NAME/job, for the emulated host or for the
# image:
#
#	layout.sh NAME [VARIABLE=VALUE...]	the variables of `run'
#
# With WH_KERNELS=debian the guests have Debian's cloud kernel and the demo's server. KVM's modules
# are those of Debian's full kernel, which is the host's.
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
here=$WH_TOP/bench/hardware
name=$1
shift
job=$WH_BUILD/bochs/$name/job

image=
[ "${WH_KERNELS:-}" != debian ] || image=$WH_BUILD/bochs/debian/demo.cpio
"$WH_TOP/tests/bochs/mkjob.sh" "$name" ${image:+--image "$image"} --server "$here/server.list" "$here/client.list"
{
	for v in "$@"; do
		echo "${v%%=*}='${v#*=}'"
	done
	cat "$here/run"
} >"$job/run"
rm -rf "$job/modules"
ln -s "$WH_BUILD/hardware/kernel/modules" "$job/modules"
cp "$WH_TOP/tests/bochs/demo/run" "$job/demo-run"
cp "$WH_TOP/bench/job/run" "$job/bench-run"
mkdir "$job/tests"
cp "$WH_BUILD"/selftests/wormhole_*_test "$job/tests/"
git -C "$WH_TOP" describe --always --exclude '*' --dirty --abbrev=12 >"$job/commit" 2>/dev/null || echo unknown >"$job/commit"
