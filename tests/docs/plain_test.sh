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

plan 6
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
echo "It took 517.5 MiB and 100 µs, 12 s." >"$tmp/a.md"
echo "It takes 517.5 MiB or 100 µs, 12 s." >"$tmp/b.md"
is a_figure_in_two_documents_is_found "$($figures "$tmp/a.md" "$tmp/b.md")" "517.5 MiB: $tmp/a.md, $tmp/b.md"
is in_one_it_is_not "$($figures "$tmp/a.md")" ""
finish
