#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that wormhole-libvirt, in an overlay over this machine's root, which has
# libvirt, starts a domain of `wormhole xml` by what the packages brought. The start gets as far
# as a host without the series can. tests/cli/libvirt_test.sh and tests/bochs/libvirt/ test what
# follows then.
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no overlay over this machine's root"
for p in host libraries libvirt; do
	ls "$build/deb/wormhole-$p"_*.deb >/dev/null 2>&1 || skip_all "no packages: make deb"
done
for p in libvirtd virsh qemu-system-x86_64; do
	PATH=$PATH:/usr/sbin command -v $p >/dev/null || skip_all "no $p here"
done
# The test runs in namespaces of its own, so that all that it starts ends with it.
[ "${1:-}" = inside ] || exec unshare -m -p -f --kill-child "$0" inside
. "$top/tests/deb/overlay.sh"
mount -t sysfs sys "$root/sys" 2>/dev/null || mount --rbind /sys "$root/sys"
for d in /run /var/lib/libvirt /var/log/libvirt /var/cache/libvirt; do
	mount -t tmpfs -o mode=755 tmp "$root$d"
done
rm -rf "$root/etc/libvirt/qemu" "$root/etc/libvirt/hooks"

plan 11
mkdir "$root/tmp/debs" "$root/run/lock"
cp "$build"/deb/wormhole-host_*.deb "$build"/deb/wormhole-libraries_*.deb "$build"/deb/wormhole-libvirt_*.deb \
	"$root/tmp/debs/"
inside sh -c 'dpkg -i /tmp/debs/*.deb' >"$tmp/log" 2>&1
is packages_are_installed "$?" 0
[ "$tap_failed" = 0 ] || diag "$(cat "$tmp/log")"
is nothing_is_started_by_that "$(ls "$root/run/wormhole" "$root/run/libvirt" 2>/dev/null)" ""
is the_hook_is_where_libvirt_calls_it "$(inside sh -c 'ls /etc/libvirt/hooks/qemu.d; test -x /etc/libvirt/hooks/qemu.d/wormhole; echo $?' | tr '\n' ' ')" \
	"wormhole 0 "
unit=$root/lib/systemd/system/wormhole-libvirt.service
like what_the_unit_runs_is_there "$(inside $(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$unit") 2>&1)" '^usage: wormhole-libvirt '
is the_unit_is_not_enabled "$(find "$root/etc/systemd" -name 'wormhole-libvirt*')" ""

printf '%s\n' 'stdio_handler = "file"' 'cgroup_controllers = [ ]' 'namespaces = [ ]' >>"$root/etc/libvirt/qemu.conf"
truncate -s 1M "$root/tmp/disk"
inside wormhole xml client tenant --id 2 --disk /tmp/disk --memory 32 --window "/dev/shm/wormhole-test-$$,2M" |
	sed -e "s/type='kvm'/type='qemu'/" -e '/host-passthrough/d' >"$root/tmp/tenant.xml"
like a_domain_runs_the_emulator_of_the_package "$(cat "$root/tmp/tenant.xml")" '<emulator>/usr/lib/wormhole/libvirt/emulator</emulator>'
ok which_is_there test -x "$root/usr/lib/wormhole/libvirt/emulator"
inside libvirtd --daemon -p /run/libvirtd.pid
inside virsh -q -c qemu:///system define /tmp/tenant.xml >"$tmp/log" 2>&1
is libvirt_defines_it "$? $(inside virsh -q -c qemu:///system list --all --name 2>/dev/null)" "0 tenant"
# This shell waits for virsh itself: it is process 1 here, which must reap the emulator as well.
inside virsh -q -c qemu:///system start tenant >"$tmp/log" 2>&1
like it_starts_as_far_as_the_hosts_control_device "$(cat "$tmp/log")" 'wormhole: error: /dev/kvm-wormhole'
is and_nothing_is_noted_of_it_any_more "$(ls "$root/run/wormhole/libvirt")" lock

inside sh -c 'kill $(cat /run/libvirtd.pid); dpkg -P wormhole-libvirt wormhole-host wormhole-libraries' >"$tmp/log" 2>&1
is nothing_is_left "$? $(find "$root/etc/libvirt/hooks" "$root/usr/lib/wormhole" "$unit" 2>/dev/null)" "0 "
[ "$tap_failed" = 0 ] || diag "$(cat "$tmp/log")"
rm -f /dev/shm/wormhole-test-$$
finish
