#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Host, server VM and client VM on Debian's own cloud kernel, in the emulated machine: a
# program of the client VM runs through the server VM, with two modules of the host's
# being the only parts of a kernel that are ours.
set -eu

: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
here=$WH_TOP/tests/bochs
out=$WH_BUILD/bochs/debian-job
need bochs/debian/vmlinuz bochs/debian/modules/kvm-intel.ko bochs/debian/server.cpio bochs/host.cpio \
	tests/vm/client.cpio
need_built "$WH_BUILD/examples/shared/vectorAdd"

WH_KERNELS=debian "$here/mkjob.sh" debian-job "$here/demo/client.list"
cp "$here/debian/run" "$out/job/run"
exec "$here/run_job.py" --timeout 1200 --out "$out" --kernel "$WH_BUILD/bochs/debian/vmlinuz" \
	--initrd "$WH_BUILD/bochs/host.cpio" "$out/job"
