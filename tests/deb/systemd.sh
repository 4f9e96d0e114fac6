# SPDX-License-Identifier: Apache-2.0
# Tests whose bare Debian 12 (bare.sh) boots source this file before bare.sh, with the words that they were
# started with: systemd becomes the first process there, in namespaces and cgroups of its own. With
# UNITS_CGROUP2=1 it has cgroups of version 2 alone, also on a machine that has those of version 1 as well.

# --- A cgroup below the root of each hierarchy, for all that systemd makes ------------------
hierarchies() {
	for h in /sys/fs/cgroup /sys/fs/cgroup/*; do
		[ -L "$h" ] || [ ! -e "$h/cgroup.procs" ] || echo "$h"
	done
}
make_group() {
	mkdir "$1/$UNITS_GROUP" || return
	# Nobody may join a cpuset group that has no processors.
	for f in cpuset.cpus cpuset.mems; do
		[ ! -e "$1/$f" ] || cat "$1/$f" >"$1/$UNITS_GROUP/$f" || return
	done
}
# A process that was killed may still be ending, so the removal is tried again.
remove_groups() {
	for h in $(hierarchies); do
		tries=100
		until [ ! -e "$h/$UNITS_GROUP" ] || [ $tries = 0 ]; do
			find "$h/$UNITS_GROUP" -depth -type d -exec rmdir {} \; 2>/dev/null
			tries=$((tries - 1))
			[ ! -e "$h/$UNITS_GROUP" ] || sleep 0.05
		done
	done
}
join_groups() {
	for h in $(hierarchies); do
		sh -c 'echo $PPID' >"$h/$UNITS_GROUP/cgroup.procs" || return
	done
}
# What keeps systemd from starting here.
make_groups() {
	[ -n "$(hierarchies)" ] || { echo "no cgroups are mounted here"; return; }
	for h in $(hierarchies); do
		make_group "$h" 2>/dev/null || { echo "no cgroup may be made in $h"; return; }
	done
}
# mount_groups FOLDER mounts what is below the group of this process's namespace. systemd mounts
# what is missing.
mount_groups() {
	[ ! -e /sys/fs/cgroup/cgroup.controllers ] && [ -z "$UNITS_CGROUP2" ] || { mount -t cgroup2 cgroup2 "$1"; return; }
	mount -t tmpfs -o mode=755 cgroup "$1" || return
	for h in $(hierarchies); do
		h=${h##*/}
		mkdir "$1/$h" && case $h in
		unified) mount -t cgroup2 cgroup2 "$1/$h" ;;
		systemd) mount -t cgroup -o none,name=systemd cgroup "$1/$h" ;;
		*) mount -t cgroup -o "$h" cgroup "$1/$h" ;;
		esac || return
	done
}

# --- Three processes: the one that cleans up, the test, and systemd --------------------------
case ${1:-} in
'')
	unshare -m -p -f --kill-child true 2>/dev/null || skip_all "no namespaces of mounts and processes here"
	export UNITS_GROUP=units-$$
	trap remove_groups EXIT
	UNITS_LACK=$(make_groups)
	export UNITS_LACK
	# It blocks all signals but SIGKILL, which cannot be blocked.
	unshare -m -p -f --kill-child "$0" inside &
	trap 'kill -9 $! 2>/dev/null; wait; exit 143' TERM INT HUP
	wait $!
	exit
	;;
boot)
	# The kernel's settings are this machine's as well, so systemd may not write them. systemd
	# can only make roots for its services if its own root is a mount.
	root=$2
	mount --rbind "$root" "$root" && cd "$root" && umount proc && mount -t proc proc proc &&
		mount --bind proc/sys proc/sys && mount -o remount,ro,bind proc/sys && mount_groups sys/fs/cgroup &&
		pivot_root . . && umount -l . || exit
	exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
	;;
esac

# boot_systemd, after bare.sh with systemd, systemd-sysv, dbus and udev, boots $root. If that cannot be
# had here, $UNITS_LACK says why.
first=
boot_systemd() {
	[ -z "$UNITS_LACK" ] || return 1
	trap '[ -z "$first" ] || kill -9 "$first"; wait; umount -R "$tmp"' EXIT
	mount -t proc proc /proc && mount -t sysfs -o ro sysfs "$root/sys" ||
		{ UNITS_LACK="nothing may be mounted here"; return 1; }
	(join_groups && exec unshare -C -m -u -i -p -f --kill-child "$0" boot "$root") >"$tmp/systemd" 2>&1 &
	until first=$(pgrep -P $! -x systemd); do
		kill -0 $! 2>/dev/null ||
			{ UNITS_LACK="systemd does not start here: $(tail -n 1 "$tmp/systemd")"; return 1; }
		sleep 0.05
	done
	# Units of Debian's own that cannot run without a machine of their own do not count.
	await_inside "systemctl is-system-running | grep -qxE 'running|degraded'" || {
		UNITS_LACK="systemd does not come up here: $(booted 'systemctl is-system-running; systemctl list-jobs' | tail -n 3 | tr '\n' ' ')"
		return 1
	}
}
# booted COMMAND runs in the system that has booted, as root.
booted() {
	nsenter -t "$first" -m -p -r -w env -i ${http_proxy:+"http_proxy=$http_proxy"} PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		LC_ALL=C HOME=/root DEBIAN_FRONTEND=noninteractive timeout 300 sh -c "cd /debs; $1" 2>&1
}
# quietly COMMAND does a step there that is no point; its output is shown where a point fails.
quietly() { booted "$1" >>"$tmp/log"; }
await_inside() { await quietly "$1"; }
