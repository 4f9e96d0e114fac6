#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What libcudart.so.13 exports, what it refuses and how it says so. No device is needed.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/tests/tap.sh"
bin=$WH_BUILD/tests/cudart/bin
lib=$WH_BUILD/client-stubs/libcudart.so.13
python=/usr/bin/python3
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

show() { head -n 20 "$1" | sed 's/^/# /'; }
exports() { nm -D --defined-only "$1" | awk '{print $3}' | sort; }

plan 8

exports "$lib" | sed -n 's/@@libcudart\.so\.13$//p' | grep -v '^libcudart' >"$tmp/ours"
$python -B "$WH_TOP/cuda-api/gen_runtime.py" --symbols | LC_ALL=C sort >"$tmp/listed"
LC_ALL=C sort -o "$tmp/ours" "$tmp/ours"
diff "$tmp/listed" "$tmp/ours" >"$tmp/diff"
point every_listed_symbol_is_exported_with_the_version_node
show "$tmp/diff"

nvcc=$(command -v "${NVCC:-nvcc}")
toolkit=
for dir in "${nvcc%/bin/*}" "$WH_BUILD/nvcc" /usr/local/cuda; do
	for l in lib64 lib; do
		[ -n "$toolkit" ] || [ ! -e "$dir/$l/libcudart.so.13" ] || toolkit=$dir/$l/libcudart.so.13
	done
done
if [ -n "$toolkit" ]; then
	exports "$toolkit" >"$tmp/theirs"
	# The library may have functions of later versions, which this toolkit lacks.
	awk '$2 == "newer" && $1 != "#" { print $1 "@@libcudart.so.13" }' "$WH_TOP/cuda-api/runtime_calls.txt" |
		grep -vxFf "$tmp/theirs" >"$tmp/newer"
	exports "$lib" | grep -vxFf "$tmp/newer" >"$tmp/ours"
	diff "$tmp/theirs" "$tmp/ours" >"$tmp/diff"
	point the_symbols_are_those_of_the_toolkits_library
	show "$tmp/diff"
else
	skip the_symbols_are_those_of_the_toolkits_library "the toolkit's libcudart.so.13 is not here"
fi

readelf -d "$lib" | grep -q 'soname: \[libcudart.so.13\]'
point the_soname_is_libcudart_so_13
! readelf -d "$lib" | grep NEEDED | grep -qi 'cuda'
point no_cuda_library_is_linked_in

# cudaImportExternalMemory is refused; the program calls it three times.
WORMHOLE_LOG=1 "$bin/refused" "$lib" >"$tmp/out" 2>"$tmp/err"
point a_refused_call_returns_not_supported_and_leaves_it_as_last_error
[ "$(grep -c 'cudaImportExternalMemory is not supported' "$tmp/err")" = 1 ]
point a_refused_call_names_itself_once
"$bin/refused" "$lib" >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/err" ]
point without_wormhole_log_nothing_is_printed

WH_CUDART=$lib WH_TOOLKIT_CUDART=$toolkit "$bin/errors" >"$tmp/out"
point error_names_and_texts_are_right
show "$tmp/out"
finish
