#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that wormhole-libvirt, in an overlay over this machine's root, which has
# libvirt, starts a domain of `wormhole xml` by what the packages brought. The start gets as far
# as a host without the series can. tests/cli/libvirt_test.sh and tests/bochs/libvirt/ test what
# follows then. A domain over ring needs no series: there a program of the VM is served.
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

plan 17
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

# --- A domain over ring (docs/ring.md) -----------------------------------------------------------
virsh() { inside virsh -q -c qemu:///system "$@"; }
console=$tmp/console
domain() {
	cat <<-END
		<domain type='qemu'><name>vm1</name><memory unit='MiB'>384</memory><vcpu>1</vcpu>
		<os><type arch='x86_64' machine='q35'>hvm</type><kernel>/tmp/vm/vmlinuz</kernel><initrd>/tmp/vm/initrd</initrd>
		<cmdline>console=ttyS0 quiet panic=-1</cmdline></os><cpu mode='maximum'/><on_crash>destroy</on_crash>
		<devices><emulator>/usr/lib/wormhole/libvirt/emulator-ring</emulator><serial type='pty'/></devices></domain>
	END
}
# The terminal keeps little of what the guest says: it is read from the start on.
follow() {
	tty=$(virsh ttyconsole vm1) && [ -n "$tty" ] || return
	cat "$root$tty" >"$console" 2>/dev/null &
}
on_console() { tr -d '\r' <"$console" | grep -q -e "$1"; }
# said NAME COMMAND... runs a program in the guest and prints what it says.
said() {
	printf 'prog %s\n' "$*" >"$root$tty"
	await on_console "^@end $1 "
	tr -d '\r' <"$console" | sed -n "/^@begin $1\$/,/^@end $1 /{/^@begin/!p}"
}
ring_points() {
	mkdir "$root/tmp/vm"
	WH_TOP=$top WH_BUILD=$build "$top/tests/vm/mkinitramfs.sh" "$tmp/overlay.cpio" "$top/tests/deb/domain.list"
	cat "$build/tests/vm/client.cpio" "$tmp/overlay.cpio" >"$root/tmp/vm/initrd"
	cp "$build/bochs/debian/vmlinuz" "$root/tmp/vm/"
	domain >"$root/tmp/vm1.xml"
	inside wormhole serve --daemon --backend softgpu >"$tmp/serve" 2>&1
	virsh define /tmp/vm1.xml >"$tmp/log" 2>&1
	# If the emulator ends before libvirt reaches its monitor, the domain's log alone has its words.
	like without_its_tenant_a_domain_over_ring_does_not_start \
		"$(virsh start vm1 2>&1 && echo started; cat "$root/var/log/libvirt/qemu/vm1.log")" \
		"wormhole: error: .*/vm1.sock.*make the VM's tenant by .wormhole tenant create"
	inside wormhole tenant create vm1 --mem 64M --sm 30 --user libvirt-qemu >"$tmp/log" 2>&1
	virsh start vm1 >>"$tmp/log" 2>&1
	is libvirt_starts_it "$? $(virsh domstate vm1)" "0 running"
	# QEMU translates all that the guest does.
	await_limit=240
	await follow
	await on_console '^@listening'
	like its_memory_is_the_tenants_quota "$(said info /root/client info)" "^total 67108864 "
	like a_cuda_program_runs_in_it "$(said add env LD_PRELOAD=/usr/lib/wormhole/libwormhole-preload.so /root/vectorAdd)" "^vectorAdd: PASS"
	is qemu_and_its_relay_are_libvirts_user "$(inside ps -o comm=,user:32= -C qemu-system-x86,wormhole-relay | sort | tr -s ' \n' ' ')" \
		"qemu-system-x86 libvirt-qemu wormhole-relay libvirt-qemu "
	virsh destroy vm1 >>"$tmp/log" 2>&1
	no_relay() { ! inside pgrep -x wormhole-relay; }
	ok its_relay_ends_with_it await no_relay
	inside wormhole stop --force >>"$tmp/log" 2>&1
}
lacks=
for f in bochs/debian/vmlinuz tests/vm/client.cpio examples/static/vectorAdd tests/tenant/bin/client; do
	[ -e "$build/$f" ] || lacks="build/$f is not built: make images"
done
if [ -z "$lacks" ]; then ring_points; else for n in 1 2 3 4 5 6; do skip "domain_over_ring_$n" "$lacks"; done; fi

inside sh -c 'kill $(cat /run/libvirtd.pid); dpkg -P wormhole-libvirt wormhole-host wormhole-libraries' >"$tmp/log" 2>&1
is nothing_is_left "$? $(find "$root/etc/libvirt/hooks" "$root/usr/lib/wormhole" "$unit" 2>/dev/null)" "0 "
[ "$tap_failed" = 0 ] || diag "$(cat "$tmp/log")"
rm -f /dev/shm/wormhole-test-$$
finish
