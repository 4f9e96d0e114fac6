#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A series as files: it applies to Debian's kernel source, carries the ABI header
# unchanged, and checkpatch has nothing to say. series_test.sh [VARIANT]: "" for
# series and the source that BASE names, "-next" for series-next.
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
build=${WH_BUILD:-$top/build}
patches=$top/kvm-patches
variant=${1:-}
series=$patches/series$variant
selftests=tools/testing/selftests/kvm
echo "TAP version 13"
if ! tarball=$(O=$build "$patches/get-source.sh" "$patches/BASE$variant"); then
	package=$(sed -n 's/^package //p' "$patches/BASE$variant")
	echo "1..0 # SKIP no source of $package"
	exit 0
fi
echo "1..7"
n=0
failed=0
point() { # STATUS NAME
	n=$((n + 1))
	[ "$1" -eq 0 ] || { failed=1; printf 'not '; }
	echo "ok $n - $2"
}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
root=$(basename "$tarball" .tar.xz)
tar xf "$tarball" -C "$tree" --strip-components=1 --wildcards "$root/Makefile" \
	'*/arch/x86/kvm' '*/arch/x86/include' '*/virt/kvm' \
	'*/Documentation/virt' '*/tools/testing/selftests/kvm' '*/MAINTAINERS' \
	'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
	'*/scripts/const_structs.checkpatch'

# series-next shares patches with series; the others are in next/.
own=0
[ -z "$variant" ] || own=${variant#-}/
(cd "$patches" && ls "$own"*.patch) >"$tree/there"
grep "^$own" "$series" | diff "$tree/there" - | sed 's/^/# /'
grep "^$own" "$series" | cmp -s "$tree/there" - &&
	(cd "$patches" && xargs ls <"$series" >/dev/null)
point $? series_lists_every_patch_in_order

sed 's/^VERSION = .*/VERSION = 5/' "$tree/Makefile" >"$tree/other"
mv "$tree/Makefile" "$tree/right"
mv "$tree/other" "$tree/Makefile"
said=$("$patches/apply.sh" "$tree" 2>&1)
[ $? = 2 ] && case $said in *"Linux 5."*) ;; *) false ;; esac && [ ! -e "$tree/arch/x86/kvm/vmx/wormhole.c" ]
point $? tree_of_another_version_is_refused
mv "$tree/right" "$tree/Makefile"

"$patches/apply.sh" "$tree" 2>&1 | sed 's/^/# /'
[ -f "$tree/arch/x86/kvm/vmx/wormhole.c" ] && [ -z "$(find "$tree" -name '*.rej')" ]
point $? series_applies_without_fuzz

cmp "$top/hypercall-abi/wormhole_abi.h" \
	"$tree/arch/x86/include/uapi/asm/wormhole_abi.h" 2>&1 | sed 's/^/# /'
cmp -s "$top/hypercall-abi/wormhole_abi.h" \
	"$tree/arch/x86/include/uapi/asm/wormhole_abi.h"
point $? series_carries_the_abi_header_unchanged

arch=x86_64
[ ! -d "$tree/$selftests/x86" ] || arch=x86
changed=$(for f in $(cd "$patches/selftests" && ls x86_64/*.c lib/x86_64/*.c include/x86_64/*.h); do
	cmp -s "$patches/selftests/$f" "$tree/$selftests/$(echo "$f" | sed "s|x86_64/|$arch/|")" ||
		echo "$f"
done)
[ -z "$changed" ] || echo "# differ: $changed"
[ -z "$changed" ]
point $? series_carries_the_selftests_as_they_are_run

said=$(while read -r patch; do
	"$tree/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary \
		"$patches/$patch"
done < "$series")
[ -z "$said" ] || echo "$said" | sed 's/^/# /' | head -40
[ -z "$said" ]
point $? checkpatch_strict_is_silent

unsigned=$(cd "$patches" && xargs grep -L '^Signed-off-by: ' <"$series")
[ -z "$unsigned" ] || echo "# $unsigned"
[ -z "$unsigned" ]
point $? every_patch_is_signed_off
exit $failed
