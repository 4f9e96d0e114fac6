#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Applies the series to a clean kernel tree: apply.sh TREE. With a git tree by
# `git am`, otherwise by patch(1) without fuzz.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=${1:?usage: apply.sh KERNEL-TREE}
[ -f "$tree/virt/kvm/kvm_main.c" ] || {
	echo "apply.sh: $tree is no kernel tree; unpack linux-source-6.12 there" >&2
	exit 2
}
while read -r patch; do
	if [ -e "$tree/.git" ]; then
		git -C "$tree" am -q "$here/$patch"
	else
		patch -s -p1 -F0 -d "$tree" < "$here/$patch"
	fi || { echo "apply.sh: $patch does not apply to $tree" >&2; exit 1; }
done < "$here/series"
