# SPDX-License-Identifier: Apache-2.0
# Tests source this file, with top and build set. It makes a bare Debian 12 in a folder (60 MB
# from the archive), with the packages in its /debs. `inside COMMAND` runs there, as root.
# $packages names, with commas, Debian's packages that it has beside the essential ones.
command -v mmdebstrap >/dev/null || skip_all "no mmdebstrap here"
# The test runs in namespaces of its own, so that all that it mounts and starts ends with it.
[ "${1:-}" = inside ] || exec unshare -m -p -f --kill-child "$0" inside

# All of these tests use one place, where each has its own mount: a test that is killed leaves
# nothing.
tmp=$build/tests/deb/root
mkdir -p "$tmp"
root=$tmp/root
# This machine's files are mounted below it as well. So nothing is removed there: all of it is one
# mount, which is unmounted.
trap 'umount -R "$tmp"' EXIT
mount -t tmpfs -o mode=755 bare "$tmp" || { trap - EXIT; skip_all "no tmpfs may be mounted here"; }
mmdebstrap --quiet --variant=apt --skip=cleanup/apt,check/empty --dpkgopt=force-unsafe-io \
	${packages:+"--include=$packages"} bookworm "$root" "$top/tests/deb/bookworm.list" >"$tmp/log" 2>&1 ||
	skip_all "no bare Debian 12 is to be had: $(tail -n 1 "$tmp/log")"
mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=755 dev "$root/dev" &&
	mount -t tmpfs -o mode=755 run "$root/run" ||
	skip_all "nothing may be mounted here"
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs shm "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
for f in null zero full random urandom tty; do
	touch "$root/dev/$f"
	mount --bind "/dev/$f" "$root/dev/$f"
done
cp /etc/resolv.conf "$root/etc/"
mkdir "$root/debs"
cp "$build"/deb/*.deb "$root/debs"

inside() {
	# shellcheck disable=SC2154
	chroot "$root" env -i ${http_proxy:+"http_proxy=$http_proxy"} PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
		DEBIAN_FRONTEND=noninteractive sh -c "cd /debs; $1" 2>&1
}
# files lists what is there, without what apt and dpkg note about their own work.
files() {
	(cd "$root" && find . -xdev ! -path './var/lib/apt/*' ! -path './var/lib/dpkg/*' \
		! -path './var/log/*' ! -path './var/cache/*' | sort)
}
installed() { inside "dpkg-query -W -f '\${Package}\n'"; }
