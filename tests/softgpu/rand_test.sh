#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the stand-in for cuRAND gives the genuine library's sequences, as
# rand.ref has them from an H200. It needs nvcc at build time, no hardware.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/tests/tap.sh"
lib=$WH_BUILD/softgpu
ref=$WH_TOP/tests/softgpu/rand.ref
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

[ -e "$lib/libcurand.so.10" ] || skip_all "no nvcc with cuRAND's headers at build time"
"$WH_BUILD/tests/softgpu/rand_record" device "$lib/libcurand.so.10" "$lib/libcuda.so.1" \
	< "$ref" > "$tmp/got" || echo "# rand_record failed"
/usr/bin/python3 "$WH_TOP/tests/softgpu/rand_compare.py" "$ref" "$tmp/got"
