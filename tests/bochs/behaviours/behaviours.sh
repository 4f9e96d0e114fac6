#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test boots the VMX host in Bochs once, with a server VM and client VMs. It promises what the
# programs of `run` in this folder promise. With WH_RUN=fire it promises what ../fire/run does, by
# WH_KILLS and WH_SEED. It needs no VMX and no GPU.
set -eu

: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}" "${WH_CPUS:=2}"
export WH_TOP WH_BUILD WH_CPUS
. "$WH_TOP/tests/tap.sh"
here=$WH_TOP/tests/bochs
run=${WH_RUN:-behaviours}
name=$run-$WH_CPUS
out=$WH_BUILD/bochs/$name

need kernel/host/bzImage kernel/server/bzImage bochs/host.cpio \
	server/vm/image/server.cpio tests/vm/client.cpio examples/shared/streams

"$here/mkjob.sh" "$name" --server "$here/behaviours/server.list" "$here/behaviours/client.list"
{
	echo "KILLS=${WH_KILLS:-6} SEED=${WH_SEED:-$(date +%s)}"
	cat "$here/$run/run"
} >"$out/job/run"
exec "$here/run_job.py" --timeout 1400 --out "$out" --kernel "$WH_BUILD/kernel/host/bzImage" \
	--initrd "$WH_BUILD/bochs/host.cpio" "$out/job"
