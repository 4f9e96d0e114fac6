#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that 64 workers of four slots each serve their clients at the same time. A
# server VM of two vCPUs has the workers, and a client VM has 64 processes of four threads, which
# use all slots. It runs in the emulated VMX host with two CPUs.
set -eu

: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
: "${WH_CPUS:=2}"
export WH_TOP WH_BUILD WH_CPUS
. "$WH_TOP/tests/tap.sh"
here=$WH_TOP/tests/bochs
out=$WH_BUILD/bochs/crowd-job

need kernel/host/bzImage kernel/server/bzImage bochs/host.cpio \
	server/vm/image/server.cpio tests/vm/client.cpio bochs/behaviours/bin/libsyscalls.so

"$here/mkjob.sh" crowd-job --server "$here/behaviours/server.list" "$here/crowd/client.list"
cp "$here/crowd/run" "$out/job/run"
exec "$here/run_job.py" --timeout 1400 --out "$out" --kernel "$WH_BUILD/kernel/host/bzImage" \
	--initrd "$WH_BUILD/bochs/host.cpio" "$out/job"
