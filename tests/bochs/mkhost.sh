#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the VMX host's initramfs: busybox, stock QEMU with its libraries and
# firmware, and what the jobs share. usage: mkhost.sh OUT.cpio [FILE=PATH]...
# (FILE is copied to PATH; the shared libraries of every program come along).
set -eu

out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

put() {
	mkdir -p "$root$(dirname "$2")"
	cp -L "$1" "$root$2"
}

# Copy the shared libraries that a program or library needs, once each.
libs() {
	ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r l; do
		[ -e "$root$l" ] || put "$l" "$l"
	done
}

mkdir -p "$root/bin" "$root/usr/bin" "$root/proc" "$root/sys" "$root/dev" "$root/root"
put /bin/busybox /bin/busybox
for a in $(/bin/busybox --list); do
	[ "$a" = busybox ] || ln -s busybox "$root/bin/$a"
done
put "$here/host-init" /init
put "$here/job.sh" /job.sh
chmod 755 "$root/init"

put /usr/bin/qemu-system-x86_64 /usr/bin/qemu-system-x86_64
libs /usr/bin/qemu-system-x86_64
for f in linuxboot_dma.bin pvh.bin kvmvapic.bin qboot.rom; do
	put /usr/share/qemu/$f /usr/share/qemu/$f
done
ln -s qboot.rom "$root/usr/share/qemu/bios-microvm.bin"
put /usr/share/seabios/bios-256k.bin /usr/share/seabios/bios-256k.bin

for pair in "$@"; do
	put "${pair%%=*}" "${pair#*=}"
	libs "${pair%%=*}"
done

(cd "$root" && find . -mindepth 1 | LC_ALL=C sort |
	cpio -o -H newc --owner 0:0 --reproducible --quiet) >"$out.new"
mv "$out.new" "$out"
