#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# initrd.sh DIR makes DIR/initrd and DIR/vmlinuz: the emulated host's files with an /init for a bare
# machine, the job, and the drivers and KVM's modules for Debian's full kernel (DIR/kernel).
set -eu
dir=$1
here=$WH_TOP/bench/hardware
root=$dir/root
WH_KERNELS=debian "$here/layout.sh" hardware-image
rm -rf "$root"
mkdir -p "$root/drivers"
cp -RL "$WH_BUILD/bochs/hardware-image/job" "$root/job"
ln -f "$root/job/server/bzImage" "$root/job/client/bzImage"
cp "$dir"/kernel/drivers/* "$root/drivers/"
install -m 755 "$here/init" "$root/init"
(cd "$root" && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
	cpio -o0 -H newc --owner 0:0 --reproducible --quiet) >"$dir/overlay.cpio"
cat "$WH_BUILD/bochs/host.cpio" "$dir/overlay.cpio" | lz4 -lzcq >"$dir/initrd.new"
rm -rf "$root" "$dir/overlay.cpio"
cp "$dir/kernel/vmlinuz" "$dir/vmlinuz"
mv "$dir/initrd.new" "$dir/initrd"
