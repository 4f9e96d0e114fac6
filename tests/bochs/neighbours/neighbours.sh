#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises that two client VMs compute at the same time, and that the window of one can be
# suspended meanwhile. Both run LeNet of tests/programs/ in the emulated VMX host, and must print
# what it prints natively on softgpu. The one that is suspended runs tests/tenant/computes.c.
set -eu

: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
here=$WH_TOP/tests/bochs
name=neighbours${WH_CPUS:+-$WH_CPUS}
out=$WH_BUILD/bochs/$name
program="lenet batch=2 steps=1 width=5"
suspended="1500 8388608"
binary=$WH_BUILD/tests/programs/bin/shared/lenet
computes=$WH_BUILD/tests/tenant/bin/computes

need kernel/host/bzImage kernel/server/bzImage bochs/host.cpio \
	server/vm/image/server.cpio tests/vm/client.cpio
need_built "$binary" "$computes" "$WH_BUILD/softgpu/libcublas.so.13"

world_init softgpu
"$here/mkjob.sh" "$name" --server "$here/neighbours/server.list" "$here/neighbours/client.list"
cp "$here/neighbours/run" "$out/job/run"
echo "$program" >"$out/job/program"
echo "$suspended" >"$out/job/suspended"
mkdir "$out/job/expected"
natively() { # NAME COMMAND...
	native=$1
	shift
	in_world native shared timeout 60 "$@" >"$out/job/expected/$native" 2>"$out/err" </dev/null ||
		{ echo "Bail out! $native fails natively: $(tail -n 1 "$out/err")"; exit 1; }
}
natively lenet "$binary" ${program#* }
natively computes "$computes" $suspended
# Host, server VM and clients have five levels of page tables.
exec "$here/run_job.py" --features la57 --timeout 1400 --out "$out" --kernel "$WH_BUILD/kernel/host/bzImage" \
	--initrd "$WH_BUILD/bochs/host.cpio" "$out/job"
