#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The driver's coverage table lists every function.
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}

echo "TAP version 13"
echo "1..1"
n=$(grep -c '^| `cu' "$WH_BUILD/gen/coverage-driver.md")
if [ "$n" = 672 ]; then
	echo "ok 1 - coverage_table_lists_every_function"
else
	echo "not ok 1 - coverage_table_lists_every_function"
	echo "# expected 672, got $n"
fi
