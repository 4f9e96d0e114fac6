#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that libcudart.so.12 has what NVIDIA's of CUDA 12.9 has: its names, its version
# node, and each function in the shape that the headers of 12.9 give it. No device is needed.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/tests/tap.sh"
lib=$WH_BUILD/client-stubs/libcudart.so.12
theirs=$WH_BUILD/runtimes/12.9.79
python=/usr/bin/python3
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0

ok() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' "$tmp/out"; fi
}
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP tools/get-runtimes.sh got no runtime of 12.9"; }
exports() { nm -D --defined-only "$1" | awk '{ print $3 }' | LC_ALL=C sort; }

echo "TAP version 13"
echo "1..6"

exports "$lib" | sed -n 's/@@libcudart\.so\.12$//p' | grep -v '^libcudart' | LC_ALL=C sort >"$tmp/ours"
$python -B "$WH_TOP/cuda-api/gen_runtime.py" --symbols --major 12 | LC_ALL=C sort | diff - "$tmp/ours" >"$tmp/out"
ok $? every_listed_symbol_is_exported_with_the_version_node
readelf -d "$lib" >"$tmp/out"
grep -q 'soname: \[libcudart.so.12\]' "$tmp/out"
ok $? the_soname_is_libcudart_so_12
! grep NEEDED "$tmp/out" | grep -qi cuda
ok $? no_cuda_library_is_linked_in

if [ -e "$theirs/libcudart.so.12" ]; then
	exports "$theirs/libcudart.so.12" >"$tmp/theirs"
	exports "$lib" | diff "$tmp/theirs" - >"$tmp/out"
	ok $? the_symbols_are_those_of_nvidias_library
else
	skip the_symbols_are_those_of_nvidias_library
fi
nvcc=$(command -v "${NVCC:-nvcc}")
for include in "$WH_BUILD/nvcc/include" "${nvcc%/bin/*}/include" /usr/local/cuda/include; do
	[ ! -e "$include/cuda_runtime_api.h" ] || break
done
if [ -e "$theirs/include" ]; then
	$python -B "$WH_TOP/tests/cudart/shapes.py" "$theirs/include" "$include" >"$tmp/out" 2>&1
	grep -q '^compared [3-9][0-9][0-9]$' "$tmp/out" && [ "$(wc -l <"$tmp/out")" = 1 ]
	ok $? what_differs_from_13_is_described_and_nothing_else
	# A struct of 13 that a function of 12 gets by mistake must show.
	mkdir "$tmp/cuda-api" && cp "$WH_TOP"/cuda-api/*.py "$WH_TOP"/cuda-api/*.txt "$tmp/cuda-api/"
	sed -i '/^cudaPointerGetAttributes /d' "$tmp/cuda-api/runtime_12.txt"
	WH_TOP=$tmp $python -B "$WH_TOP/tests/cudart/shapes.py" "$theirs/include" "$include" >"$tmp/out" 2>&1
	grep -q '^cudaPointerGetAttributes has another shape' "$tmp/out"
	ok $? a_struct_of_another_size_shows
else
	skip what_differs_from_13_is_described_and_nothing_else
	skip a_struct_of_another_size_shows
fi
