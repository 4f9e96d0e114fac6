# SPDX-License-Identifier: Apache-2.0
# Read with `.` by a test in a mount namespace of its own, after tap.sh: $root is an overlay
# over this machine's root, where packages may be installed; what comes of it is in memory
# and goes with the test, whose other files are in $tmp.
# One place for all of these tests, each of which has its own mount there: one that is killed leaves nothing.
tmp=$build/tests/deb/root
mkdir -p "$tmp"
# Below it this machine's files are mounted: nothing is removed there, one mount goes.
trap 'umount -R "$tmp"' EXIT
mount -t tmpfs -o mode=755 overlay "$tmp" || { trap - EXIT; skip_all "no tmpfs may be mounted here"; }
mkdir "$tmp/up" "$tmp/work" "$tmp/root"
root=$tmp/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$tmp/up,workdir=$tmp/work" "$root" ||
	skip_all "no overlay may be mounted here"
mount -t tmpfs tmp "$root/tmp"
# With what is mounted there: in a container each device is.
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"

inside() { chroot "$root" env -i PATH="$PATH" DEBIAN_FRONTEND=noninteractive "$@"; }
