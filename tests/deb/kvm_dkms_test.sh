#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that wormhole-kvm-dkms can be installed and removed. It runs in an overlay
# over this machine's root, which has DKMS, the headers and the kernel's source. DKMS builds the
# modules with nothing of a kernel of ours. The modules fit the kernel of the headers, and the
# kernel's own modules come back in the end. The test takes one to two minutes; nothing is loaded.
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no overlay over this machine's root"
if [ "${1:-}" != inside ]; then
	deb=$(ls "$build"/deb/wormhole-kvm-dkms_*_all.deb 2>/dev/null) || skip_all "no packages: make deb"
	command -v dkms >/dev/null || skip_all "no DKMS here (Debian package dkms)"
	exec unshare -m "$0" inside "$deb"
fi
deb=$2

# The test uses the flavour for all machines.
headers=$(ls -d /usr/src/linux-headers-6.12.*-amd64 2>/dev/null | grep -v -e -cloud- -e -rt- | sort -V | tail -n1)
[ -n "$headers" ] || skip_all "no headers of a kernel 6.12 (Debian package linux-headers-6.12-amd64)"
release=$(cat "$headers/include/config/kernel.release")

. "$top/tests/deb/overlay.sh"

# There is only this one kernel; files by the names of KVM's modules stand in for its own modules.
modules=$root/lib/modules/$release
rm -rf "$root"/lib/modules/* "$root"/boot/config-*
mkdir -p "$modules/kernel/arch/x86/kvm"
ln -s "$headers" "$modules/build"
echo | gcc -c -x c -o "$tmp/empty.o" -
for m in kvm kvm-intel kvm-amd; do
	cp "$tmp/empty.o" "$modules/kernel/arch/x86/kvm/$m.ko"
	echo "kernel/arch/x86/kvm/$m.ko" >>"$modules/modules.order"
done
touch "$modules/modules.builtin" "$modules/modules.builtin.modinfo"
inside depmod "$release"
found() { inside modinfo -k "$release" -F filename "$1"; }
before=$(found kvm_intel)

# exported prints symbol and checksum of what the kernel and KVM's own module export, wanted those
# of what a module wants.
exported() { awk -F'\t' '{ print $2, $1 }' "$headers/Module.symvers"; }
wanted() { modprobe --dump-modversions "$1" | awk '{ print $2, $1 }'; }

plan 17
cp "$deb" "$root/tmp/"
inside dpkg -i "/tmp/$(basename "$deb")" >"$tmp/log" 2>&1
is package_is_installed_and_dkms_builds "$?" 0
[ "$tap_failed" = 0 ] || diag "$(tail -n 20 "$tmp/log"; tail -n 30 "$root"/var/lib/dkms/wormhole-kvm/*/build/make.log 2>&1)"
like in_a_chroot_nothing_is_loaded "$(cat "$tmp/log")" "^in a chroot: the modules of this kernel stay"
new=$modules/updates/dkms
for m in kvm kvm-intel kvm-amd; do
	is "${m}_is_built" "$(ls "$new/$m.ko")" "$new/$m.ko"
done
is and_goes_before_the_kernels_own "$before $(found kvm_intel)" \
	"/lib/modules/$release/kernel/arch/x86/kvm/kvm-intel.ko /lib/modules/$release/updates/dkms/kvm-intel.ko"
is it_is_for_that_kernel "$(modinfo -F vermagic "$new/kvm-intel.ko" | cut -d' ' -f1)" "$release"
like it_has_the_series "$(modinfo -F parm "$new/kvm-intel.ko")" "^wormhole_max_tables:"
like and_says_so "$(modinfo -F version "$new/kvm-intel.ko")" "^wormhole-[0-9]*$"
exported | sort >"$tmp/kernel"
wanted "$new/kvm.ko" | sort >"$tmp/kvm"
is kvm_uses_what_the_kernel_exports_with_its_checksums "$(comm -23 "$tmp/kvm" "$tmp/kernel")" ""
nm -u "$new/kvm-intel.ko" | awk '{ print $2 }' | sort -u >"$tmp/undefined"
wanted "$new/kvm-intel.ko" | sort >"$tmp/intel"
cut -d' ' -f1 "$tmp/intel" | sort -u | comm -23 "$tmp/undefined" - >"$tmp/unversioned"
is every_symbol_that_kvm_intel_uses_has_a_checksum "$(cat "$tmp/unversioned")" ""
comm -23 "$tmp/intel" "$tmp/kernel" | cut -d' ' -f1 >"$tmp/of_kvm"
nm "$new/kvm.ko" | sed -n 's/.* [rR] __ksymtab_//p' | sort -u >"$tmp/kvm_exports"
is what_is_not_the_kernels_is_exported_by_our_kvm "$(sort -u "$tmp/of_kvm" | comm -23 - "$tmp/kvm_exports")" ""
ok and_is_what_the_series_adds grep -qx kvm_wh_copy_xstate "$tmp/of_kvm"
ok there_are_hundreds_of_them [ "$(wc -l <"$tmp/intel")" -ge 300 ]

inside dpkg -r wormhole-kvm-dkms >"$tmp/log" 2>&1
is package_is_removed "$?" 0
is the_kernels_own_modules_are_back "$(found kvm_intel)" "$before"
is and_nothing_is_left "$(ls -d "$new"/* "$root"/usr/src/wormhole-kvm-* "$root"/var/lib/dkms/wormhole-kvm \
	"$root/usr/sbin/wormhole-kvm" 2>/dev/null)" ""
finish
