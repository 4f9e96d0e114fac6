#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the committed coverage table is what the description says today.
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
PYTHON=${PYTHON:-/usr/bin/python3}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT

echo "TAP version 13"
echo "1..2"
if "$PYTHON" -B "$WH_TOP/cuda-api/gen_stubs.py" --coverage "$tmp/coverage.md" 2>"$tmp/err" &&
	diff -u "$WH_TOP/cuda-api/coverage.md" "$tmp/coverage.md" >"$tmp/diff"; then
	echo "ok 1 - coverage_table_is_current"
else
	echo "not ok 1 - coverage_table_is_current"
	sed 's/^/# /' "$tmp/err" "$tmp/diff" | head -20
	echo "# make -C cuda-api coverage writes it"
fi
n=$(grep -c '^| `cu' "$WH_TOP/cuda-api/coverage.md")
if [ "$n" = 637 ]; then
	echo "ok 2 - coverage_table_lists_every_function"
else
	echo "not ok 2 - coverage_table_lists_every_function"
	echo "# expected 637, got $n"
fi
