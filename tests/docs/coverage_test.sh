#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/coverage.md is what the generated tables say today, each of them is
# counted, and an unknown kind, or a table that is not there, is an error.
here=$(cd "$(dirname "$0")" && pwd)
: "${WH_BUILD:=$(cd "$here/../.." && pwd)}"
: "${WH_TOP:=$(cd "$WH_BUILD/.." && pwd)}"
. "$WH_TOP/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
page() { /usr/bin/python3 -B "$WH_TOP/cuda-api/coverage_page.py" "$@" 2>&1; }

counted() { # the column `all` of the page's lines, but for the sum
	grep '^|.*`coverage-' "$WH_TOP/docs/coverage.md" | awk -F'|' '{ n += $9 } END { print n }'
}
rows() { cat "$tmp"/coverage-*.md | grep -cE '^\| `[A-Za-z_0-9]+` \|'; }

plan 4
# Of libraries that there are: what an earlier build left is no table.
for l in driver runtime runtime-12 runtime-11 $(ls "$WH_TOP"/cuda-api | sed -n -e '/^cuda\.api$/d' -e 's/\.\(api\|refused\)$//p'); do
	cp "$WH_BUILD/gen/coverage-$l.md" "$tmp/" || exit 1
	for word in older oldest; do
		! grep -qs "^$word " "$WH_TOP/cuda-api/$l.api" "$WH_TOP/cuda-api/$l.refused" ||
			cp "$WH_BUILD/gen/coverage-$l-$word.md" "$tmp/" || exit 1
	done
done
page "$tmp" "$tmp/page"
ok page_of_coverage_is_current diff "$WH_TOP/docs/coverage.md" "$tmp/page"
is every_function_of_every_table_is_counted "$(counted)" "$(rows)"
echo '| `cuNothing` | maybe | | |' >>"$tmp/coverage-driver.md"
like unknown_kind_is_an_error "$(page "$tmp")" "cuNothing: no kind is called 'maybe'"
cp "$WH_BUILD/gen/coverage-driver.md" "$tmp/" && rm "$tmp/coverage-runtime.md"
like table_that_is_not_there_is_an_error "$(page "$tmp")" "coverage-runtime.md"
finish
