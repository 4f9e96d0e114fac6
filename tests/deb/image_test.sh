#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that wormhole-server-image, in an overlay over this machine's root, makes the
# image of a server VM of Debian's cloud kernel. QEMU's own emulator boots it, which is no host of
# ours: the module finds that out and the VM ends, so the test sees all that comes before.
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no overlay over this machine's root"
for p in host libraries server-image; do
	ls "$build/deb/wormhole-$p"_*.deb >/dev/null 2>&1 || skip_all "no packages: make deb"
done
for p in dkms busybox qemu-system-x86_64; do
	command -v $p >/dev/null || skip_all "no $p here"
done
ls -d /usr/src/linux-headers-6.12.*-cloud-amd64 >/dev/null 2>&1 ||
	skip_all "no headers of a cloud kernel (Debian package linux-headers-6.12-cloud-amd64)"
[ "${1:-}" = inside ] || exec unshare -m "$0" inside
. "$top/tests/deb/overlay.sh"

plan 10
cp "$build"/deb/wormhole-host_*.deb "$build"/deb/wormhole-libraries_*.deb \
	"$build"/deb/wormhole-server-image_*.deb "$root/tmp/"
# The shell in the overlay expands the file names. shellcheck disable=SC2016
inside sh -c 'dpkg -i /tmp/*.deb' >"$tmp/log" 2>&1
is packages_are_installed "$?" 0
[ "$tap_failed" = 0 ] || diag "$(cat "$tmp/log")"
out=$(inside wormhole-server-image /tmp/image 2>&1)
is image_is_made "$?" 0
[ "$tap_failed" = 0 ] || diag "$out"
image=$root/tmp/image
is of_kernel_initramfs_and_command_line "$(ls "$image" | tr '\n' ' ')" "bzImage cmdline initramfs release "
release=$(cat "$image/release")
like kernel_is_debians_cloud_kernel "$(file -b "$image/bzImage")" "version $release "
cpio -i --quiet --to-stdout lib/wormhole_server.ko <"$image/initramfs" >"$tmp/module.ko"
is module_is_for_it "$(modinfo -F vermagic "$tmp/module.ko" | cut -d' ' -f1)" "$release"
out=$(inside wormhole server start vm --id 1 --image /tmp/image --window /dev/shm/w,2M --dry-run)
like server_start_takes_the_image "$out" "kernel /tmp/image/bzImage -initrd /tmp/image/initramfs"

timeout 600 qemu-system-x86_64 -M q35 -accel tcg -cpu max -m 512 -nodefaults -no-user-config -display none \
	-no-reboot -serial "file:$tmp/console" -kernel "$image/bzImage" -initrd "$image/initramfs" \
	-append "console=ttyS0 $(cat "$image/cmdline")"
is the_machine_ends "$?" 0
like the_module_finds_no_host_of_wormholes "$(cat "$tmp/console")" "wormhole_server: "
like and_says_so_as_the_last_word "$(cat "$tmp/console")" "wormhole_server.ko does not load"
inside sh -c 'dpkg -P wormhole-server-image wormhole-host wormhole-libraries' >"$tmp/log" 2>&1
is nothing_is_left "$? $(ls -d "$root"/usr/src/wormhole-server-* "$root"/var/lib/dkms/wormhole-server \
	"$root"/usr/lib/wormhole 2>/dev/null)" "0 "
[ "$tap_failed" = 0 ] || diag "$(tail -n 30 "$tmp/console" | tr -d '\r'; cat "$tmp/log")"
finish
