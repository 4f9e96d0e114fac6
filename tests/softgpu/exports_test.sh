#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that softgpu's libcuda.so.1 exports every function that cuda.h and
# cudaProfiler.h declare, in all versions, and nothing else. It needs no hardware.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/tests/tap.sh"
lib=$WH_BUILD/softgpu/libcuda.so.1
inc=${CUDA_INC:-$WH_BUILD/nvcc/include}
[ -e "$inc/cuda.h" ] || inc=/usr/local/cuda/include
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

plan 5

# The C preprocessor and a pattern read the headers here, so the reader is another one than the
# generator's.
printf '#define __CUDA_API_VERSION_INTERNAL\n%s\n%s\n' \
	'#include <cuda.h>' '#include <cudaProfiler.h>' |
	cpp -P -I "$inc" - | tr '\n' ' ' | tr ';' '\n' |
	grep -v 'typedef\|static' |
	sed -n 's/.*CUresult *\(cu[A-Z][A-Za-z0-9_]*\) *(.*/\1/p' |
	sort -u > "$tmp/want"
nm -D --defined-only "$lib" | awk '{ print $3 }' | sort > "$tmp/have"

[ "$(wc -l < "$tmp/want")" -ge 637 ]
point header_declares_at_least_637_functions
comm -23 "$tmp/want" "$tmp/have" > "$tmp/missing"
sed 's/^/# missing: /' "$tmp/missing"
[ ! -s "$tmp/missing" ]
point every_declared_function_is_exported
comm -13 "$tmp/want" "$tmp/have" > "$tmp/extra"
sed 's/^/# extra: /' "$tmp/extra"
[ ! -s "$tmp/extra" ]
point nothing_else_is_exported
readelf -d "$lib" | grep -q 'SONAME.*\[libcuda.so.1\]'
point soname_is_libcuda_so_1
ldd "$lib" | grep -vq 'not found' && ! ldd -r "$lib" 2>&1 | grep 'undefined symbol'
point no_symbol_is_left_undefined
finish
