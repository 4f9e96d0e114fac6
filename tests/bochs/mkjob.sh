#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lays out a job with both guests: build/bochs/NAME/job/{server,client}/ with
# kernel, initramfs and command line. usage: mkjob.sh NAME [CLIENT-LIST...]
# (more for the client's initramfs; see tests/vm/mkinitramfs.sh)
set -eu

name=$1
shift
job=$WH_BUILD/bochs/$name/job
rm -rf "$job"
mkdir -p "$job/server" "$job/client"

ln -s "$(realpath "$WH_BUILD/kernel/server/bzImage")" "$job/server/bzImage"
ln -s "$WH_BUILD/server/vm/image/server.cpio" "$job/server/initramfs"
ln -s "$WH_TOP/server/vm/image/cmdline" "$job/server/cmdline"

ln -s "$(realpath "$WH_BUILD/kernel/client/bzImage")" "$job/client/bzImage"
ln -s "$WH_TOP/tests/vm/client-image/cmdline" "$job/client/cmdline"
cp "$WH_BUILD/tests/vm/client.cpio" "$job/client/initramfs"
if [ $# -gt 0 ]; then
	"$WH_TOP/tests/vm/mkinitramfs.sh" "$job/../overlay.cpio" "$@"
	cat "$job/../overlay.cpio" >>"$job/client/initramfs"
	rm "$job/../overlay.cpio"
fi
