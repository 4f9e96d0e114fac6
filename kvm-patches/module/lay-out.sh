#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes a folder in which KVM's modules with the series build outside of a kernel tree:
#
#   lay-out.sh KDIR TREE
#
# KDIR is what a kernel's headers package installs (/lib/modules/RELEASE/build). What
# the headers lack, KVM's own source, comes from Debian's linux-source of the very same
# version: a module of another one could build, and be wrong. KERNEL_TARBALL=FILE: its
# tarball, if it is not in /usr/src; KERNEL_SOURCE=DIR: unpacked already, which saves
# a quarter of a minute. The series for this version is beside this script's folder, or
# where WORMHOLE_SERIES says.
set -eu
die() { echo "error: $*" >&2; exit 1; }
[ $# = 2 ] || { sed -n '3,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }

here=$(cd "$(dirname "$0")" && pwd)
series=${WORMHOLE_SERIES:-$here/../series}
kdir=$1
tree=$2
[ -r "$series" ] || die "there is no series $series"
[ -r "$kdir/include/config/kernel.release" ] || die "$kdir holds no kernel's headers"
release=$(cat "$kdir/include/config/kernel.release")
wanted=$(expr "$release" : '\([0-9]*\.[0-9]*\.[0-9]*\)') || die "$kdir: what version is $release?"
source=linux-source-${wanted%.*}
tarball=${KERNEL_TARBALL:-/usr/src/$source.tar.xz}

# What the series changes and the headers packages have: a copy of ours goes first.
headers="arch/x86/include/asm/kvm_host.h arch/x86/include/asm/kvm-x86-ops.h include/uapi/linux/kvm.h"

unpack() {
	rm -rf "$tree"
	mkdir -p "$tree"
	if [ -n "${KERNEL_SOURCE:-}" ]; then
		# shellcheck disable=SC2086
		(cd "$KERNEL_SOURCE" && cp -r --parents Makefile arch/x86/kvm virt/kvm $headers "$tree")
		return
	fi
	[ -r "$tarball" ] || die "$tarball is missing (Debian package $source)"
	# shellcheck disable=SC2086
	tar -xf "$tarball" -C "$tree" --strip-components=1 --wildcards \
		$(printf "$source/%s " Makefile arch/x86/kvm virt/kvm $headers)
}

# The parts of a patch that are for code: documentation and lists of maintainers are not here.
code_of() {
	awk '/^diff --git /	{ code = $3 ~ /^a\/(arch|virt|include)\// } code' "$1"
}

version() { sed -n "s/^$1 *= *//p" "$tree/Makefile" | head -n1; }

tree=$(mkdir -p "$tree" && cd "$tree" && pwd)
unpack
has=$(version VERSION).$(version PATCHLEVEL).$(version SUBLEVEL)
# Debian's archive has a new kernel's source some hours before its headers.
packaged=$(dpkg-query -W -f '${Version}' "linux-headers-$release" 2>/dev/null) || packaged=
[ "$has" = "$wanted" ] || die "$source is of $has and the headers of $release: the same version is needed;" \
	"apt-get install $source${packaged:+=$packaged} brings it, and newer headers come with a newer kernel"
rm "$tree/Makefile"
while read -r patch; do
	code_of "$(dirname "$series")/$patch" |
		patch -s -p1 -F0 --no-backup-if-mismatch -d "$tree" || die "$patch does not apply to $has"
done <"$series"

# Kbuild looks for what is in a kernel's tree below $(srctree), which is now the headers.
# What a kernel is configured with has no word of the series.
mv "$tree/arch/x86/kvm/Makefile" "$tree/arch/x86/kvm/Makefile.series"
cat >"$tree/arch/x86/kvm/Makefile" <<'M'
# SPDX-License-Identifier: GPL-2.0
KVM_TREE	:= $(src)/../../..
CONFIG_KVM_WORMHOLE := y
NOSTDINC_FLAGS	:= -I$(KVM_TREE)/arch/x86/include -I$(KVM_TREE)/arch/x86/include/uapi \
		   -I$(KVM_TREE)/include/uapi \
		   $(NOSTDINC_FLAGS) -DCONFIG_KVM_WORMHOLE=1
include $(src)/Makefile.series
M
sed -i -e 's|\$(srctree)/virt/kvm|$(KVM_TREE)/virt/kvm|' \
	-e 's|\$(srctree)/arch/x86/kvm|$(src)|' "$tree/arch/x86/kvm/Makefile.series"
# A tracepoint's own file is included by a path from one of the compiler's folders.
sed -i 's|^#define TRACE_INCLUDE_PATH .*arch/x86/kvm$|#define TRACE_INCLUDE_PATH ../kvm|' \
	"$tree/arch/x86/kvm/trace.h"

# A version, which the kernel's own modules have none of: by that DKMS sees that these are
# others and installs them, and modinfo says whose they are.
abi=$(sed -n 's/^#define WH_ABI_VERSION[[:space:]]*//p' "$tree/arch/x86/include/uapi/asm/wormhole_abi.h")
for f in x86.c vmx/vmx.c svm/svm.c; do
	printf '\nMODULE_VERSION("wormhole-%s");\n' "${abi%%U}" >>"$tree/arch/x86/kvm/$f"
done
