#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh OUT builds Linux's own KVM selftests as static programs. They come from the source that
# the series is written for (kvm-patches/BASE), as it was unpacked for a kernel; nothing is
# written there. OUT/programs lists them, OUT/log has make's output.
set -eu
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${WH_BUILD:-$top/build}
out=${1:?usage: build.sh OUT}
mkdir -p "$out"
out=$(cd "$out" && pwd)
source=$build/kernel/base-$(sed -n 's/^release //p' "$top/kvm-patches/BASE")
[ -d "$source" ] || { echo "build.sh: $source is missing: make next" >&2; exit 1; }
unset MAKEFLAGS MFLAGS MAKELEVEL
[ -e "$out/include/linux/kvm.h" ] ||
	make -s -C "$source" O="$out/headers" ARCH=x86 INSTALL_HDR_PATH="$out" headers_install >"$out/log" 2>&1
# Programs that a compiler of this age cannot build are left out, and named.
make -s -k -j"$(nproc)" -C "$source/tools/testing/selftests/kvm" ARCH=x86 OUTPUT="$out/kvm" \
	KHDR_INCLUDES="-isystem $out/include" LDFLAGS="-static -pthread -no-pie" >>"$out/log" 2>&1 || :
find "$out/kvm" -type f -perm -u+x ! -name '*.o' | sort >"$out/programs"
[ -s "$out/programs" ] || { tail -n 20 "$out/log" >&2; exit 1; }
