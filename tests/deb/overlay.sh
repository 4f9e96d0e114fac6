# SPDX-License-Identifier: Apache-2.0
# A test in a mount namespace of its own sources this file after tap.sh. $root is an overlay over
# this machine's root, where packages may be installed. All changes are in memory and go with the
# test, whose other files are in $tmp. All of these tests use one place, where each has its own
# mount: a test that is killed leaves nothing.
tmp=$build/tests/deb/root
mkdir -p "$tmp"
# This machine's files are mounted below it. So nothing is removed there: one mount is unmounted.
trap 'umount -R "$tmp"' EXIT
mount -t tmpfs -o mode=755 overlay "$tmp" || { trap - EXIT; skip_all "no tmpfs may be mounted here"; }
mkdir "$tmp/up" "$tmp/work" "$tmp/root"
root=$tmp/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$tmp/up,workdir=$tmp/work" "$root" ||
	skip_all "no overlay may be mounted here"
mount -t tmpfs tmp "$root/tmp"
# /dev comes with what is mounted there, because in a container each device is a mount.
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"

inside() { chroot "$root" env -i PATH="$PATH" DEBIAN_FRONTEND=noninteractive "$@"; }
