#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test boots the VMX host in Bochs once, with two server VMs of different drivers and a client
# VM that has a window of each. It promises what `run` in this folder says. With WH_KERNELS=debian
# all machines have Debian's own kernel. It needs no VMX and no GPU.
set -eu

: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
here=$WH_TOP/tests/bochs
out=$WH_BUILD/bochs/replace

if [ "${WH_KERNELS:-}" = debian ]; then
	kernel=bochs/debian/vmlinuz
	need bochs/debian/modules/kvm-intel.ko bochs/debian/server.cpio
else
	kernel=kernel/host/bzImage
	need kernel/server/bzImage server/vm/image/server.cpio
fi
need $kernel bochs/host.cpio tests/vm/client.cpio

"$here/mkjob.sh" replace --server "$here/replace/server.list" "$here/replace/client.list"
cp "$here/replace/run" "$out/job/run"
exec "$here/run_job.py" --timeout 1400 --out "$out" --kernel "$WH_BUILD/$kernel" \
	--initrd "$WH_BUILD/bochs/host.cpio" "$out/job"
