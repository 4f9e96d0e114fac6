#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documents can be read: no sentence is long, and each measured figure stands in one of them.
here=$(cd "$(dirname "$0")" && pwd)
: "${WH_BUILD:=$(cd "$here/../.." && pwd)}"
: "${WH_TOP:=$(cd "$WH_BUILD/.." && pwd)}"
. "$WH_TOP/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$WH_TOP" || exit 1
# A checkout without git has no build products among its documents either.
documents=$(git ls-files '*.md' 2>/dev/null || find . -name '*.md' ! -path './build/*')
sentences="/usr/bin/python3 -B tests/docs/sentences.py"
figures="/usr/bin/python3 -B tests/docs/figures.py"

plan 11
# shellcheck disable=SC2086
{
	is no_sentence_has_more_than_30_words "$($sentences $documents)" ""
	is no_measured_figure_stands_in_two_documents "$($figures $documents)" ""
}
words() { seq -s ' ' "$1"; }
{
	printf '# A heading\n\nA short one. %s.\n' "$(words 31)"
	printf '\n    code %s\n\n| a table | %s |\n\n- an item\n- %s.\n' "$(words 40)" "$(words 40)" "$(words 30)"
} >"$tmp/long.md"
is a_long_sentence_is_found "$($sentences "$tmp/long.md" | grep -c "long.md:3: 31 words")" 1
is code_tables_and_items_are_no_sentences "$($sentences "$tmp/long.md" | wc -l)" 1

# page writes a document, and found prints what stands twice in the two.
page() { printf '%s\n' "$2" >"$tmp/$1.md"; }
found() { $figures "$tmp/a.md" "$tmp/b.md" | sed "s,$tmp/,,g"; }
page a "It took 517.5 MiB and 100 µs, 12 s."
page b "It takes 517.5 MiB or 100 µs, 12 s."
is a_figure_in_two_documents_is_found "$(found)" "517.5 MiB: a.md:1, b.md:1"
is in_one_it_is_not "$($figures "$tmp/a.md")" ""
page a "Each MB of variables adds 37 to 40 µs to a launch."
page b "A variable is compared at each launch (0.037 ms a MB)."
is a_rounder_figure_is_found_by_the_nouns_beside_it "$(found)" "37 µs: a.md:1, b.md:1"
page b "A copy to the device takes 37 µs."
is the_same_number_of_something_else_is_none "$(found)" ""
page a "A null call takes 111 instructions."
page b "| call | whole |
|---|---|
| null call | 111 |"
is a_number_of_a_table_is_found_in_a_sentence "$(found)" "111 instructions: a.md:1, b.md:3"
page a "| share | work |
|---|---|
| | 8.92, 24.83, 48.90, 73.11, 90.56, 12.87, 99.02 |"
page b "| work | of time |
|---|---|
| 8.9 | 10.0 |
$(printf '| %s | 1 |\n' 24.8 48.9 73.1 90.6 12.9 99.0)"
is a_table_is_found_in_another_with_fewer_decimals "$(found)" "6 numbers of a table: a.md:1, b.md:1"
page a "It keeps 64 KiB of kernel code, 100 % of kernel time, kernels of 35 ms, within 12 % of a kernel's code."
page b "It keeps 64 KiB of kernel code, 100 % of kernel time, kernels of 35 ms, within 12 % of a kernel's code."
is what_somebody_chose_is_no_figure "$(found)" ""
finish
