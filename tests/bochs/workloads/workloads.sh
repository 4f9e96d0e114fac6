#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises that real programs run over vmfunc: those of tests/programs/, with small
# sizes, in a client VM in the emulated VMX host. They must print what they print natively on
# softgpu.
set -eu

: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
here=$WH_TOP/tests/bochs
name=workloads${WH_CPUS:+-$WH_CPUS}
out=$WH_BUILD/bochs/$name
bin=$WH_BUILD/tests/programs/bin/shared

# Each line has the time limit in seconds, the name (the program's up to a dot) and the arguments.
programs="
120 threads rounds=1 n=256
120 threads_ptds rounds=1 n=256
120 graphs
120 printing
120 managed
120 neuron calls=300
240 lenet batch=2 steps=1 width=5
240 lenet.threads threads=4 batch=1 steps=1 width=5
120 blas_threads rounds=1 n=16
"
# A host function runs in the client: each one takes a handoff in which the worker waits.
host_functions="threads threads_ptds graphs printing"

need kernel/host/bzImage kernel/server/bzImage bochs/host.cpio \
	server/vm/image/server.cpio tests/vm/client.cpio
need_built "$bin/lenet" "$bin/neuron" "$WH_BUILD/softgpu/libcublas.so.13"

world_init softgpu
"$here/mkjob.sh" "$name" --server "$here/workloads/server.list" "$here/workloads/client.list"
cp "$here/workloads/run" "$out/job/run"
mkdir "$out/job/expected" "$out/job/may_be_handed_on"
for program in $host_functions; do : >"$out/job/may_be_handed_on/$program"; done
echo "$programs" | grep . >"$out/job/programs"
while read -r _ program arguments; do
	in_world native shared timeout 60 "$bin/${program%.*}" $arguments \
		>"$out/job/expected/$program" 2>"$out/err" </dev/null ||
		{ echo "Bail out! $program fails natively: $(tail -n 1 "$out/err")"; exit 1; }
done <"$out/job/programs"
exec "$here/run_job.py" --timeout 1400 --out "$out" --kernel "$WH_BUILD/kernel/host/bzImage" \
	--initrd "$WH_BUILD/bochs/host.cpio" "$out/job"
