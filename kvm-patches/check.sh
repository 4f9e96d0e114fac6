#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Proves the series patch by patch: check.sh TREE BUILD-DIR. TREE is a clean
# kernel tree and is left with the series applied. After each patch arch/x86/kvm
# is built with kvm-patches/config; checkpatch --strict must be silent. Takes
# about two minutes a patch on two cores.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "${1:?usage: check.sh TREE BUILD-DIR}" && pwd)
out=${2:?usage: check.sh TREE BUILD-DIR}
mkdir -p "$out"
out=$(cd "$out" && pwd)
jobs=$(nproc)
# New files below arch/x86/kvm are covered by MAINTAINERS' entry for KVM x86;
# selftests use the tests' own style of long lines of data.
ignore=FILE_PATH_CHANGES

configure() {
	make -s -C "$tree" O="$out" tinyconfig
	"$tree/scripts/kconfig/merge_config.sh" -s -O "$out" "$out/.config" \
		"$here/../tests/bochs/host.config" "$here/config" >/dev/null
	make -s -C "$tree" O="$out" olddefconfig
}

while read -r patch; do
	"$tree/scripts/checkpatch.pl" --strict --quiet --ignore $ignore \
		"$here/$patch"
	patch -s -p1 -F0 -d "$tree" < "$here/$patch"
	configure
	make -s -C "$tree" O="$out" -j"$jobs" prepare
	make -s -C "$tree" O="$out" -j"$jobs" arch/x86/kvm/
	echo "ok $patch"
done < "$here/series"
