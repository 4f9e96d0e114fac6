#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# get-kernel.sh RELEASE DIR puts Debian's cloud kernel, as people install it, into DIR: vmlinuz,
# and irqbypass.ko, which KVM's modules need. It copies them from /boot where the kernel is
# installed, and otherwise takes them from the archive (34 MB). It neither installs the kernel nor
# makes a file outside of DIR.
set -eu
release=$1
dir=$2
mkdir -p "$dir"
if [ -r "/boot/vmlinuz-$release" ]; then
	root=
else
	echo "  GET      linux-image-$release (34 MB)" >&2
	root=$dir/root
	rm -rf "$root"
	mkdir "$root"
	(cd "$root" && apt-get download -q "linux-image-$release" >log 2>&1) ||
		{ cat "$root/log" >&2; exit 1; }
	dpkg-deb --fsys-tarfile "$root"/*.deb | tar -x -C "$root" "./boot/vmlinuz-$release" \
		--wildcards './lib/modules/*/virt/lib/irqbypass.ko*'
fi
cp "$root/boot/vmlinuz-$release" "$dir/vmlinuz.new"
module=$(ls "$root/lib/modules/$release/kernel/virt/lib/irqbypass.ko"*)
case $module in
*.xz) xz -dc "$module" ;;
*) cat "$module" ;;
esac >"$dir/irqbypass.ko"
[ -z "$root" ] || rm -rf "$root"
mv "$dir/vmlinuz.new" "$dir/vmlinuz"
