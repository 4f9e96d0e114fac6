#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the committed coverage tables of libraries are what the descriptions say
# today, and that each call has a number that no other has.
. "$(dirname "$0")/lib.sh"
PYTHON=${PYTHON:-/usr/bin/python3}

check() { # NAME FUNCTIONS-IN-THE-HEADER
	table=$WH_TOP/cuda-api/coverage-$1.md
	"$PYTHON" -B "$WH_TOP/cuda-api/gen_library.py" "$WH_TOP/cuda-api/$1.api" --coverage "$tmp/$1.md" &&
		diff -u "$table" "$tmp/$1.md" >"$tmp/diff"
	point "$1_table_is_current" || { sed 's/^/# /' "$tmp/diff" | head -20; echo "# make -C cuda-api coverage writes it"; }
	[ "$(grep -c '^| `' "$table")" = "$2" ]
	point "$1_table_lists_every_function" || echo "# expected $2, got $(grep -c '^| `' "$table")"
	[ -z "$(awk '$1 + 0 > 0 { print $1 }' "$WH_TOP/cuda-api/ids-$1.lock" | sort -n | uniq -d)" ]
	point "$1_gives_no_number_twice"
}

echo "TAP version 13"
echo "1..$(($(libraries | wc -l) * 3))"
while read -r name _ _ _ functions; do
	check "$name" "$functions"
done <<-END
	$(libraries)
END
