#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that docs/coverage.md is what the tables in cuda-api/ say today, and that each
# of them is counted. An unknown table or an unknown kind is an error.
here=$(cd "$(dirname "$0")" && pwd)
: "${WH_BUILD:=$(cd "$here/../.." && pwd)}"
: "${WH_TOP:=$(cd "$WH_BUILD/.." && pwd)}"
. "$WH_TOP/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
page="/usr/bin/python3 -B coverage_page.py"

counted() { # the column `all` of the page's lines, but for the sum
	grep '^|.*cuda-api/' "$WH_TOP/docs/coverage.md" | awk -F'|' '{ n += $9 } END { print n }'
}
rows() { cat "$WH_TOP"/cuda-api/coverage*.md | grep -cE '^\| `[A-Za-z_0-9]+` \|'; }

plan 4
cd "$WH_TOP/cuda-api" || exit 1
$page "$tmp/page" 2>&1
ok page_of_coverage_is_current diff "$WH_TOP/docs/coverage.md" "$tmp/page"
is every_function_of_every_table_is_counted "$(counted)" "$(rows)"
cp coverage_page.py coverage.md "$tmp"
echo '| `cuNothing` | maybe | | |' >>"$tmp/coverage.md"
cd "$tmp" || exit 1
like unknown_kind_is_an_error "$($page 2>&1)" "cuNothing: no kind is called 'maybe'"
cp "$WH_TOP/cuda-api/coverage.md" coverage.md
touch coverage-other.md
like unknown_table_is_an_error "$($page 2>&1)" "is of no API"
finish
