#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that libcudart.so.12 and libcudart.so.11.0 have what NVIDIA's of CUDA 12.9 and 11.8 have: its names,
# its version node, and each function in the shape that the headers give it. No device is needed.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/tests/tap.sh"
python=/usr/bin/python3
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

judge() { point "$1" || sed 's/^/# /' "$tmp/out"; }
not_there() { skip "$1" "tools/get-runtimes.sh got no runtime of $version"; }
exports() { nm -D --defined-only "$1" | awk '{ print $3 }' | LC_ALL=C sort; }
shapes() { # TOP: the descriptions that are compared
	WH_TOP=$1 $python -B "$WH_TOP/tests/cudart/shapes.py" "$major" "$theirs/include" "$include" >"$tmp/out" 2>&1
}

plan 12

nvcc=$(command -v "${NVCC:-nvcc}")
for include in "$WH_BUILD/nvcc/include" "${nvcc%/bin/*}/include" /usr/local/cuda/include; do
	[ ! -e "$include/cuda_runtime_api.h" ] || break
done

# check SONAME BUILD WRONG: without the line of WRONG, its list must not fit the headers.
check() {
	soname=$1 lib=$WH_BUILD/client-stubs/$1 theirs=$WH_BUILD/runtimes/$2
	major=${2%%.*} version=${2%.*}
	exports "$lib" | sed -n "s/@@$soname\$//p" | grep -v '^libcudart' | LC_ALL=C sort >"$tmp/ours"
	$python -B "$WH_TOP/cuda-api/gen_runtime.py" --symbols --major "$major" | LC_ALL=C sort | diff - "$tmp/ours" >"$tmp/out"
	judge "every_listed_symbol_of_${major}_is_exported_with_the_version_node"
	readelf -d "$lib" >"$tmp/out"
	name=$(echo "$soname" | tr . _)
	grep -qF "soname: [$soname]" "$tmp/out"
	judge "the_soname_is_$name"
	! grep NEEDED "$tmp/out" | grep -qi cuda
	judge "no_cuda_library_is_linked_into_that_of_$major"
	if [ -e "$theirs/$soname" ]; then
		exports "$theirs/$soname" >"$tmp/theirs"
		exports "$lib" | diff "$tmp/theirs" - >"$tmp/out"
		judge "the_symbols_of_${major}_are_those_of_nvidias_library"
	else
		not_there "the_symbols_of_${major}_are_those_of_nvidias_library"
	fi
	if [ ! -e "$theirs/include" ]; then
		not_there "what_differs_between_${major}_and_13_is_described_and_nothing_else"
		not_there "what_is_not_described_of_${major}_shows"
		return
	fi
	shapes "$WH_TOP"
	grep -q '^compared [3-9][0-9][0-9]$' "$tmp/out" && [ "$(wc -l <"$tmp/out")" = 1 ]
	judge "what_differs_between_${major}_and_13_is_described_and_nothing_else"
	rm -rf "$tmp/cuda-api"
	mkdir "$tmp/cuda-api" && cp "$WH_TOP"/cuda-api/*.py "$WH_TOP"/cuda-api/*.txt "$tmp/cuda-api/"
	sed -i "/^$3 /d" "$tmp/cuda-api/runtime_$major.txt"
	shapes "$tmp"
	grep -q "^$3 has another shape" "$tmp/out"
	judge "what_is_not_described_of_${major}_shows"
}

check libcudart.so.12 12.9.79 cudaPointerGetAttributes
check libcudart.so.11.0 11.8.89 cudaFuncGetAttributes
finish
