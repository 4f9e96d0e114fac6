#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Applies the series to a clean kernel tree, and its selftests: apply.sh TREE. Its
# version decides: what BASE here names gets the series itself, that of a folder's BASE
# what backport.sh makes. With a git tree by `git am`, otherwise by patch(1) without fuzz.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=${1:?usage: apply.sh KERNEL-TREE}

# "6.12" of the tree, or of what a BASE file names.
version() { sed -n "s/^$1 *= *//p" "$tree/Makefile" | head -n1; }
of_base() { sed -n 's/^version \([0-9]*\.[0-9]*\)\..*/\1/p' "$1"; }

for f in virt/kvm/kvm_main.c Makefile; do
	[ -f "$tree/$f" ] || { echo "apply.sh: $tree is no kernel tree: no $f" >&2; exit 2; }
done
has=$(version VERSION).$(version PATCHLEVEL)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
from=
known=
for base in "$here"/BASE "$here"/*/BASE; do
	known="$known $(of_base "$base")"
	[ "$(of_base "$base")" != "$has" ] || from=${base%/BASE}
done
[ -n "$from" ] || {
	echo "apply.sh: $tree is Linux $has; there is a series for each of:$known" >&2
	exit 2
}
if [ "$from" != "$here" ]; then
	"$here/backport.sh" "${from##*/}" "$tmp"
	from=$tmp
fi
while read -r patch; do
	if [ -e "$tree/.git" ]; then
		git -C "$tree" am -q "$from/$patch"
	else
		patch -s -p1 -F0 --no-backup-if-mismatch -d "$tree" < "$from/$patch"
	fi || { echo "apply.sh: $patch does not apply to $tree" >&2; exit 1; }
done < "$from/series"
"$here/selftests/place.sh" "$tree"
