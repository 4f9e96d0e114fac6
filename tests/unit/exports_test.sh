#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that libcuda.so.1 exports exactly what cuda.h, cudaProfiler.h and the headers
# for graphics declare, without a version as NVIDIA's does, and a private interface for our other
# libraries.
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
. "$WH_TOP/tests/tap.sh"
PYTHON=${PYTHON:-/usr/bin/python3}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
lib=$WH_BUILD/client-stubs/libcuda.so.1

show() { head "$tmp/diff" | sed 's/^/# /'; }

plan 5
nm -D --defined-only "$lib" | awk '$2 != "A" && $3 !~ /@/ { print $3 }' | sort >"$tmp/have"
inc=${CUDA_INC:-$WH_BUILD/nvcc/include}
[ -e "$inc/cuda.h" ] || inc=/usr/local/cuda/include
# What the headers for graphics include need not be there. A preprocessor reads their names here:
# the old ones, those of today, and those of programs with a default stream of each thread.
for names in -D__CUDA_API_VERSION_INTERNAL -D__CUDA_TODAY -DCUDA_API_PER_THREAD_DEFAULT_STREAM; do
	sed '/#include/d' "$inc/cudaGL.h" "$inc/cudaEGL.h" "$inc/cudaVDPAU.h" | cpp -P $names - |
		sed -n 's/.*CUDAAPI *\(cu[A-Z][A-Za-z0-9_]*\) *(.*/\1/p'
done >"$tmp/graphics"
PYTHONPATH=$WH_TOP/cuda-api "$PYTHON" -B -c '
import headers
print("\n".join(headers.parse(headers.driver_source()).functions))' | sort -u - "$tmp/graphics" >"$tmp/want"
[ -s "$tmp/want" ] && [ -s "$tmp/graphics" ] && diff "$tmp/want" "$tmp/have" >"$tmp/diff"
point "every_declared_function_is_exported_and_nothing_else" || show
objdump -p "$lib" | grep -q 'SONAME *libcuda.so.1$'
point "soname_is_libcuda_so_1"
objdump -p "$lib" | awk '$1 == "NEEDED" && $2 !~ /^(libc|libpthread|libdl)\.so/ { bad = 1 } END { exit bad }'
point "only_the_c_library_is_needed"
nm -D --defined-only "$lib" | awk '$2 != "A" && $3 ~ /@/ { print $3 }' | sort >"$tmp/have"
sed -n 's/^private \(.*\)/\1@@WORMHOLE_PRIVATE_4/p' "$WH_TOP/cuda-api/cuda.api" | sort >"$tmp/want"
[ -s "$tmp/want" ] && diff "$tmp/want" "$tmp/have" >"$tmp/diff"
point "the_private_interface_has_a_version_of_its_own_and_nothing_else" || show
# These are no state of the pair: fork.c's own, the transports' (which drop theirs themselves),
# keys that are made once, the log, what the loader's auditor knows, what order.c invalidates by
# counting up, the runtimes and functions that are watched (of_), and why the last try to connect
# failed.
kept="any known lanes loop matters ns of_ on on_top once pair proven reason ring runtime runtimes shm spare thread_key thread_once told wh_audit_searches wh_epoch wh_epoch_library wh_epoch_memory"
objdump -t "$lib" | awk 'NF > 3 && ($(NF - 2) == ".data" || $(NF - 2) == ".bss") { sub(/\.[0-9]*$/, "", $NF); print $NF }' |
	grep -v -x -e completed -e __TMC_END__ -e __dso_handle -e .data -e .bss | sort -u >"$tmp/have"
echo "$kept" | tr ' ' '\n' >"$tmp/want"
diff "$tmp/want" "$tmp/have" >"$tmp/diff"
point "every_variable_is_the_pairs_or_known_to_survive_a_fork" || show
finish
