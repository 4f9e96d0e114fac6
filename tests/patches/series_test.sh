#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The series as files: it applies to Debian's kernel source, carries the ABI
# header unchanged, and checkpatch has nothing to say. Needs linux-source-6.12.
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
patches=$top/kvm-patches
tarball=/usr/src/linux-source-6.12.tar.xz
echo "TAP version 13"
if [ ! -f $tarball ]; then
	echo "1..0 # SKIP $tarball is missing (package linux-source-6.12)"
	exit 0
fi
echo "1..6"
n=0
failed=0
point() { # STATUS NAME
	n=$((n + 1))
	[ "$1" -eq 0 ] || { failed=1; printf 'not '; }
	echo "ok $n - $2"
}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
tar xf $tarball -C "$tree" --strip-components=1 --wildcards \
	'*/arch/x86/kvm' '*/arch/x86/include' '*/virt/kvm' \
	'*/Documentation/virt' '*/tools/testing/selftests/kvm' '*/MAINTAINERS' \
	'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
	'*/scripts/const_structs.checkpatch'

(cd "$patches" && ls 0*.patch) | diff - "$patches/series" | sed 's/^/# /'
(cd "$patches" && ls 0*.patch) | cmp -s - "$patches/series"
point $? series_lists_every_patch_in_order

"$patches/apply.sh" "$tree" 2>&1 | sed 's/^/# /'
[ -f "$tree/arch/x86/kvm/vmx/wormhole.c" ]
point $? series_applies_without_fuzz

cmp "$top/hypercall-abi/wormhole_abi.h" \
	"$tree/arch/x86/include/uapi/asm/wormhole_abi.h" 2>&1 | sed 's/^/# /'
cmp -s "$top/hypercall-abi/wormhole_abi.h" \
	"$tree/arch/x86/include/uapi/asm/wormhole_abi.h"
point $? series_carries_the_abi_header_unchanged

changed=$(for f in $(cd "$patches/selftests" && ls x86_64/*.c lib/x86_64/*.c include/x86_64/*.h); do
	cmp -s "$patches/selftests/$f" "$tree/tools/testing/selftests/kvm/$f" || echo "$f"
done)
[ -z "$changed" ] || echo "# differ: $changed"
[ -z "$changed" ]
point $? series_carries_the_selftests_as_they_are_run

said=$(while read -r patch; do
	"$tree/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary \
		"$patches/$patch"
done < "$patches/series")
[ -z "$said" ] || echo "$said" | sed 's/^/# /' | head -40
[ -z "$said" ]
point $? checkpatch_strict_is_silent

unsigned=$(cd "$patches" && grep -L '^Signed-off-by: ' 0*.patch)
[ -z "$unsigned" ] || echo "# $unsigned"
[ -z "$unsigned" ]
point $? every_patch_is_signed_off
exit $failed
