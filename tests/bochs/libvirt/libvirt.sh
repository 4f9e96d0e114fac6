#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that Debian's libvirtd, in the emulated VMX host, starts a server VM and a
# client VM from what `wormhole xml` prints, by the files of the package wormhole-libvirt. A CUDA
# program of the client runs over vmfunc, under limits from the domain's metadata, which change
# while it runs.
set -eu

: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
here=$WH_TOP/tests/bochs
out=$WH_BUILD/bochs/libvirt
driver=/usr/lib/x86_64-linux-gnu/libvirt/connection-driver/libvirt_driver_qemu.so
for f in /usr/sbin/libvirtd "$driver" /usr/bin/virsh /usr/bin/python3 /usr/bin/setpriv; do
	[ -e "$f" ] || skip_all "no $f: libvirt-daemon-system, libvirt-clients, python3"
done
need kernel/host/bzImage kernel/server/bzImage bochs/host.cpio \
	server/vm/image/server.cpio tests/vm/client.cpio
need_built "$WH_BUILD/examples/shared/vectorAdd" "$WH_BUILD/tests/tenant/bin/client"

"$here/mkjob.sh" libvirt "$here/libvirt/client.list"
cp "$here/libvirt/run" "$out/job/run"
/usr/bin/python3 "$here/libvirt/python-zip.py" "$out/python.zip" "$WH_TOP/packaging/libvirt/wormhole-libvirt"
{
	echo "file $(/usr/bin/python3 -Ic 'import sys; print(next(p for p in sys.path if p.endswith(".zip")))') $out/python.zip 644"
	echo "dir $(/usr/bin/python3 -Ic 'import sys; print(next(p for p in sys.path if p.endswith("dynload")))')"
	for f in /usr/share/libvirt/cpu_map/*.xml; do echo "file $f $f 644"; done
} >"$out/machine.list"
"$WH_TOP/tests/vm/mkinitramfs.sh" "$out/libvirt.cpio" "$here/libvirt/host.list" "$out/machine.list"
exec "$here/run_job.py" --timeout 1400 --out "$out" --kernel "$WH_BUILD/kernel/host/bzImage" \
	--initrd "$WH_BUILD/bochs/host.cpio" --initrd "$out/libvirt.cpio" "$out/job"
