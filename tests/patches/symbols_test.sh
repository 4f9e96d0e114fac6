#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the series and the server VM's module only use symbols that Debian's own
# kernel exports to modules. With KVM built in, as in the emulated host, nothing else would
# notice. The test needs the host's kernel as it was built (make images), and Debian's list of
# symbols (3 MB, from the machine's package archive).
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
kvm=$build/kernel/host/obj/arch/x86/kvm
module=$build/server/vm/guest-module/wormhole_server.ko

# debian_exports prints the symbols that Debian's kernel for this machine exports.
debian_exports() {
	meta=linux-headers-$(sed -n 's/^package linux-source-//p' "$top/kvm-patches/6.12/BASE")-amd64
	package=$(apt-cache depends "$meta" 2>/dev/null |
		sed -n 's/.*Depends: \(linux-headers-[0-9].*\)/\1/p')
	[ -n "$package" ] && (cd "$tmp" && apt-get download -q "$package" >log 2>&1) &&
		dpkg-deb --fsys-tarfile "$tmp/$package"_*.deb |
		tar -x -O --wildcards '*/Module.symvers' | cut -f2 | sort -u >"$tmp/debian" &&
		[ -s "$tmp/debian" ]
}

# used FILE... prints the symbols that the files use and do not have themselves.
used() {
	nm -u "$@" | awk '$1 == "U" || $1 == "w" { print $2 }' | sort -u
}

defined() {
	nm --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u
}

# series_uses prints what vmx/ uses of kvm: kvm_intel contains vmx/, and kvm has to export that.
series_uses() {
	defined "$kvm"/vmx/*.o >"$tmp/own"
	nm "$kvm"/*.o "$kvm"/mmu/*.o "$kvm"/../../../virt/kvm/*.o |
		sed -n 's/.* __export_symbol_//p' | sort -u >"$tmp/kvm"
	used "$kvm"/vmx/wormhole*.o | comm -23 - "$tmp/own" >"$tmp/used"
	comm -23 "$tmp/used" "$tmp/kvm" | comm -23 - "$tmp/debian" >"$tmp/missing"
	sed 's/^/not exported: /' "$tmp/missing"
	[ "$(wc -l <"$tmp/used")" -gt 50 ] && [ ! -s "$tmp/missing" ]
}

module_uses() {
	used "$module" | comm -23 - "$tmp/debian" >"$tmp/missing"
	sed 's/^/not exported: /' "$tmp/missing"
	[ "$(used "$module" | wc -l)" -gt 20 ] && [ ! -s "$tmp/missing" ]
}

ls "$kvm"/vmx/wormhole*.o "$module" >/dev/null 2>&1 || skip_all "no kernel, or no module: make images"
debian_exports || skip_all "no list of what Debian's kernel exports"
plan 2
ok the_series_uses_what_debians_kernel_exports series_uses
ok so_does_the_module_of_the_server_vm module_uses
finish
