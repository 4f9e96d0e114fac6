#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the transport ring works under KVM: the emulated VMX host runs a server over
# softgpu and a client VM, whose programs print what they print natively. The VM has no role. KVM
# uses APICv for such VMs, which Bochs emulates so that their kernels crash while they look for PCI
# devices, so it is off.
set -eu
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
out=$WH_BUILD/bochs/ring
bin=$WH_BUILD/tests/programs/bin/shared
programs="120 threads rounds=1 n=256
120 graphs
120 printing
240 lenet batch=2 steps=1 width=5"

need kernel/host/bzImage kernel/server/bzImage bochs/host.cpio tests/vm/client.cpio
need_built "$bin/lenet" "$WH_BUILD/tests/ring/bin/hostile" "$WH_BUILD/softgpu/libcublas.so.13"

rm -rf "$out/job"
mkdir -p "$out/job/client" "$out/job/expected"
image() { # OUT BASE LIST
	"$WH_TOP/tests/vm/mkinitramfs.sh" "$out/overlay.cpio" "$3" && cat "$2" "$out/overlay.cpio" >"$1"
}
image "$out/host.cpio" "$WH_BUILD/bochs/host.cpio" "$WH_TOP/tests/bochs/ring/host.list"
image "$out/job/client/initramfs" "$WH_BUILD/tests/vm/client.cpio" "$WH_TOP/tests/ring/client.list"
# Of the kernels at hand this one has virtio-serial, and is a tenth of Debian's.
cp -L "$WH_BUILD/kernel/server/bzImage" "$out/job/client/bzImage"
cp "$WH_TOP/tests/vm/client-image/cmdline" "$out/job/client/cmdline"
cp "$WH_TOP/tests/bochs/ring/run" "$out/job/run"
echo "$programs" >"$out/job/programs"
world_init softgpu
while read -r _ program arguments; do
	# shellcheck disable=SC2086
	in_world native shared timeout 60 "$bin/$program" $arguments >"$out/job/expected/$program" 2>"$out/err" </dev/null ||
		{ echo "Bail out! $program fails natively: $(tail -n 1 "$out/err")"; exit 1; }
done <"$out/job/programs"
exec "$WH_TOP/tests/bochs/run_job.py" --timeout 900 --out "$out" --args kvm_intel.enable_apicv=0 \
	--kernel "$WH_BUILD/kernel/host/bzImage" --initrd "$out/host.cpio" "$out/job"
