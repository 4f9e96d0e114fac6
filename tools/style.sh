#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make style` looks at beside the compiler's warnings: licence lines,
# long and ragged lines, long files, the syntax of scripts. One line per find.
set -u

cd "$(dirname "$0")/.." || exit 1
bad=0
report() {
	while read -r line; do
		[ -n "$line" ] || continue
		echo "style: $1: $line"
		bad=$((bad + 1))
	done <<END
$2
END
}
# Sources of ours; a patch carries other people's context.
sources() { git ls-files -- "$@" ':!*.patch'; }

report "no SPDX line" "$(sources '*.c' '*.h' '*.asm' '*.inc' '*.py' '*.sh' '*.cu' '*Makefile' '*.mk' '*.md' |
	xargs grep -L 'SPDX-License-Identifier')"
report "space at the end of a line" "$(sources '*.c' '*.h' '*.asm' '*.inc' '*.py' '*.sh' '*.md' '*.cu' |
	xargs grep -nE '[[:space:]]+$' | cut -c1-100)"
# A string that a user reads stays in one piece, so that it can be searched for.
too_long() { # COLUMNS PATTERN...
	columns=$1
	shift
	report "more than $columns columns" "$(sources "$@" | xargs -n1 sh -c \
		'expand "$1" | awk -v f="$1" -v n="$0" "length > n && !/\x22/ { print f \":\" NR }"' "$columns")"
}
too_long 100 '*.c' '*.h' '*.asm' '*.inc' '*.cu'
# The generators hold much text of what they write.
too_long 120 '*.py'
report "more than 800 lines" "$(sources '*.c' '*.h' '*.asm' '*.py' '*.sh' |
	xargs wc -l | awk '$2 != "total" && $1 > 800 { print $2 " has " $1 }')"
report "left to do" "$(sources '*.c' '*.h' '*.asm' '*.py' '*.sh' ':!tests/style.sh' |
	xargs grep -nE '\b(TODO|FIXME|XXX)\b' | cut -c1-100)"
for f in $(sources '*.sh' .ci/run); do
	shell=$(head -n1 "$f" | grep -q bash && echo bash || echo sh)
	$shell -n "$f" 2>/dev/null || report "does not parse" "$f"
done
for f in $(sources '*.py'); do
	/usr/bin/python3 -c 'import ast,sys; ast.parse(open(sys.argv[1]).read())' "$f" 2>/dev/null ||
		report "does not parse" "$f"
done
[ "$bad" = 0 ] || echo "style: $bad finds"
[ "$bad" = 0 ]
