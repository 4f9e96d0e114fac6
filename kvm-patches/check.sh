#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Proves the series patch by patch, as it is exported: check.sh TREE BUILD-DIR [FIRST].
# TREE is a clean kernel tree of the version that BASE names, and is left with the
# series applied. Its checkpatch --strict must be silent. After each KVM patch
# arch/x86/kvm is built with kvm-patches/config (about two minutes on two cores), after
# the last one the selftests and the documents, as the kernel does. FIRST: patches before this number (1)
# were built before, and are not built again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "${1:?usage: check.sh TREE BUILD-DIR [FIRST]}" && pwd)
out=${2:?usage: check.sh TREE BUILD-DIR [FIRST]}
first=${3:-1}
mkdir -p "$out"
out=$(cd "$out" && pwd)
jobs=$(nproc)

configure() {
	make -s -C "$tree" O="$out" tinyconfig
	"$tree/scripts/kconfig/merge_config.sh" -m -O "$out" "$out/.config" \
		"$here/../tests/bochs/host.config" "$here/config" >/dev/null
	make -s -C "$tree" O="$out" olddefconfig
}

# Modules are linked by nobody here: what an object of KVM's lacks has to be in the other.
linked() {
	nm -u "$out/arch/x86/kvm/kvm-intel.o" | sed -n 's/^ *U \(.*wh_.*\)/\1/p' | sort -u >"$out/wanted"
	nm "$out/arch/x86/kvm/kvm.o" | sed -n 's/^[0-9a-f]* [A-Z] //p' | sort -u | comm -13 - "$out/wanted" | {
		! grep .; } || { echo "check.sh: these are not there yet" >&2; return 1; }
}

kvm() {
	configure
	make -s -C "$tree" O="$out" -j"$jobs" prepare
	make -s -C "$tree" O="$out" -j"$jobs" arch/x86/kvm/
	linked
}

# The kernel's own files may warn, by compiler and version; ours may not.
selftests() {
	folder=$tree/tools/testing/selftests/kvm
	make -s -C "$tree" O="$out" -j"$jobs" headers
	mkdir -p "$out/selftests"
	# shellcheck disable=SC2012,SC2046
	make -s -C "$folder" -j"$jobs" ARCH=x86 OUTPUT="$out/selftests" \
		KHDR_INCLUDES="-isystem $out/usr/include" \
		$(cd "$folder" && ls x86*/wormhole_*_test.c | sed "s|\(.*\)\.c|$out/selftests/\1|") \
		2>"$out/selftests/log" || { cat "$out/selftests/log" >&2; return 1; }
	! grep 'wormhole.*warning: ' "$out/selftests/log" >&2
}

# Other documents may warn, by the version of Sphinx; those with words of ours may not.
documents() {
	command -v sphinx-build >/dev/null || { echo "check.sh: needs sphinx-build (python3-sphinx)" >&2; return 1; }
	srctree=$tree SPHINXDIRS=virt/kvm sphinx-build -q -b html -c "$tree/Documentation" \
		"$tree/Documentation/virt/kvm" "$out/documents" 2>"$out/documents.log" ||
		{ cat "$out/documents.log" >&2; return 1; }
	! grep -E '(wormhole|cpuid|kvm/api)\.rst:' "$out/documents.log" >&2
}

rm -rf "$out/exported"
KERNEL_SOURCE=$tree "$here/export.sh" "$out/exported"
stored=$(wc -l <"$here/series")
n=0
while read -r patch; do
	n=$((n + 1))
	"$tree/scripts/checkpatch.pl" --strict --no-signoff --quiet "$out/exported/$patch"
	patch -s -p1 -F0 -d "$tree" <"$out/exported/$patch"
	[ $n -lt "$first" ] || [ $n -gt "$stored" ] || kvm
	echo "ok $patch"
done <"$out/exported/series"
selftests
echo "ok selftests"
documents
echo "ok documents"
