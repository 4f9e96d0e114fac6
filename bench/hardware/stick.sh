#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stick.sh DIR KIB makes DIR/hardware.img of DIR/vmlinuz and DIR/initrd: GRUB for BIOS and UEFI, and a
# FAT partition of KIB for the results. DIR/cmdline is what a PXE server gives the kernel.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
root=$dir/iso
rm -rf "$root" "$dir/results.fat"
mkdir -p "$root/boot/grub"
ln "$dir/vmlinuz" "$dir/initrd" "$root/boot/"
sed "s|@CMDLINE@|$(cat "$here/cmdline")|" "$here/grub.cfg" >"$root/boot/grub/grub.cfg"
mkfs.vfat -C -n WORMHOLE "$dir/results.fat" "$2" >"$dir/log"
mcopy -i "$dir/results.fat" "$here/wormhole.txt" ::wormhole.txt
grub-mkrescue -o "$dir/hardware.new" "$root" -volid WORMHOLE_BOOT \
	-append_partition 3 0x0c "$dir/results.fat" >>"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
rm -rf "$root" "$dir/results.fat"
echo "$(cat "$here/cmdline") wormhole.pass=1" >"$dir/cmdline"
mv "$dir/hardware.new" "$dir/hardware.img"
