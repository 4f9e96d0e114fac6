# SPDX-License-Identifier: Apache-2.0
# Sourced by tests, with top and build set: a bare Debian 12 in a folder (60 MB from the archive), with the
# packages in its /debs. inside COMMAND runs there, as root. In $packages, with commas: what of Debian's
# it has beside what is essential.
command -v mmdebstrap >/dev/null || skip_all "no mmdebstrap here"
# In namespaces of its own: what is mounted and started goes with the test.
[ "${1:-}" = inside ] || exec unshare -m -p -f --kill-child "$0" inside

# One place for all of these tests, each of which has its own mount there: one that is killed leaves nothing.
tmp=$build/tests/deb/root
mkdir -p "$tmp"
root=$tmp/root
# Below it this machine's files are mounted, too: nothing is removed there, all of it is one
# mount that goes.
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
# What is there, but for what apt and dpkg note about their own work.
files() {
	(cd "$root" && find . -xdev ! -path './var/lib/apt/*' ! -path './var/lib/dpkg/*' \
		! -path './var/log/*' ! -path './var/cache/*' | sort)
}
installed() { inside "dpkg-query -W -f '\${Package}\n'"; }
