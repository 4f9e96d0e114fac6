#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The coverage tables of libraries list every function, and each call has a number
# that no other has.
. "$(dirname "$0")/lib.sh"

check() { # name, functions in the header
	table=$WH_BUILD/gen/coverage-$1.md
	[ "$(grep -c '^| `' "$table")" = "$2" ]
	point "$1_table_lists_every_function" || echo "# expected $2, got $(grep -c '^| `' "$table")"
	[ -z "$(awk '$1 + 0 > 0 { print $1 }' "$WH_TOP/cuda-api/ids-$1.lock" | sort -n | uniq -d)" ]
	point "$1_gives_no_number_twice"
}

plan $(($(libraries | wc -l) * 2))
while read -r name _ _ functions _; do
	check "$name" "$functions"
done <<-END
	$(libraries)
END
