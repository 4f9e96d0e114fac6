#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libcuda.so.1 exports exactly what cuda.h and cudaProfiler.h declare, without a
# version as NVIDIA's does, and for our other libraries a private interface.
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
PYTHON=${PYTHON:-/usr/bin/python3}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
lib=$WH_BUILD/client-stubs/libcuda.so.1

point() { # number, name, condition's exit status
	[ "$3" = 0 ] && echo "ok $1 - $2" || echo "not ok $1 - $2"
}

echo "TAP version 13"
echo "1..4"
nm -D --defined-only "$lib" | awk '$2 != "A" && $3 !~ /@/ { print $3 }' | sort >"$tmp/have"
PYTHONPATH=$WH_TOP/cuda-api "$PYTHON" -B -c '
import headers
print("\n".join(headers.parse(headers.driver_source()).functions))' | sort >"$tmp/want"
diff "$tmp/want" "$tmp/have" >"$tmp/diff"
rc=$?
[ -s "$tmp/want" ] || rc=1
point 1 "every_declared_function_is_exported_and_nothing_else" $rc
sed 's/^/# /' "$tmp/diff" | head
objdump -p "$lib" | grep -q 'SONAME *libcuda.so.1$'
point 2 "soname_is_libcuda_so_1" $?
objdump -p "$lib" | awk '$1 == "NEEDED" && $2 !~ /^(libc|libpthread|libdl)\.so/ { bad = 1 } END { exit bad }'
point 3 "only_the_c_library_is_needed" $?
nm -D --defined-only "$lib" | awk '$2 != "A" && $3 ~ /@/ { print $3 }' | sort >"$tmp/have"
sed -n 's/^private \(.*\)/\1@@WORMHOLE_PRIVATE_2/p' "$WH_TOP/cuda-api/cuda.api" | sort >"$tmp/want"
diff "$tmp/want" "$tmp/have" >"$tmp/diff"
rc=$?
[ -s "$tmp/want" ] || rc=1
point 4 "the_private_interface_has_a_version_of_its_own_and_nothing_else" $rc
sed 's/^/# /' "$tmp/diff" | head
