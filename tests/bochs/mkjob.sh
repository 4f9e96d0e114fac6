#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lays out a job with both guests: build/bochs/NAME/job/{server,client}/ with kernel, initramfs
# and command line.
#
#   mkjob.sh NAME [--image CPIO] [--server LIST] [CLIENT-LIST...]
#
# CPIO is the server's image, if it is not the one with all of a worker's libraries. The lists say
# what an initramfs gets besides the image's own files; tests/vm/mkinitramfs.sh explains them.
# With WH_KERNELS=debian both guests have Debian's cloud kernel, and the job also brings KVM's
# modules for a host that has that kernel (debian/Makefile).
set -eu

name=$1
shift
server= image=
if [ "${1:-}" = --image ]; then
	image=$2
	shift 2
fi
if [ "${1:-}" = --server ]; then
	server=$2
	shift 2
fi
job=$WH_BUILD/bochs/$name/job
overlay=$WH_BUILD/bochs/$name/overlay.cpio
rm -rf "$job"
mkdir -p "$job/server" "$job/client"

# initramfs GUEST IMAGE [LIST...] makes a guest's initramfs. An image that gets no more files is
# not copied.
initramfs() {
	guest=$1 image=$2
	shift 2
	if [ $# = 0 ]; then
		ln -s "$image" "$job/$guest/initramfs"
		return
	fi
	"$WH_TOP/tests/vm/mkinitramfs.sh" "$overlay" "$@"
	cat "$image" "$overlay" >"$job/$guest/initramfs"
	rm "$overlay" "$overlay.d"
}

if [ "${WH_KERNELS:-}" = debian ]; then
	debian=$WH_BUILD/bochs/debian
	server_kernel=$debian/vmlinuz
	client_kernel=$debian/vmlinuz
	server_image=$debian/server.cpio
	server_cmdline=$debian/cmdline
	ln -s "$debian/modules" "$job/modules"
else
	server_kernel=$WH_BUILD/kernel/server/bzImage
	client_kernel=$WH_BUILD/kernel/host/bzImage
	server_image=$WH_BUILD/server/vm/image/server.cpio
	server_cmdline=$WH_TOP/server/vm/image/cmdline
fi
ln -s "$(realpath "$server_kernel")" "$job/server/bzImage"
initramfs server "${image:-$server_image}" ${server:+"$server"}
ln -s "$server_cmdline" "$job/server/cmdline"

ln -s "$(realpath "$client_kernel")" "$job/client/bzImage"
initramfs client "$WH_BUILD/tests/vm/client.cpio" "$@"
ln -s "$WH_TOP/tests/vm/client-image/cmdline" "$job/client/cmdline"
