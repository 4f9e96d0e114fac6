#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the checks of `make style` besides the compiler's warnings: licence lines, long and
# ragged lines, long files, the syntax of scripts, includes that go up or round, and documents that
# say what is missing. It prints one line per find.
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
# Lists our own sources. Patches are left out, since they contain context of other authors.
sources() { git ls-files -- "$@" ':!*.patch'; }

report "no SPDX line" "$(sources '*.c' '*.h' '*.asm' '*.inc' '*.py' '*.sh' '*.cu' '*.cuh' '*Makefile' '*.mk' '*.md' |
	xargs grep -L 'SPDX-License-Identifier')"
report "space at the end of a line" "$(sources '*.c' '*.h' '*.asm' '*.inc' '*.py' '*.sh' '*.md' '*.cu' '*.cuh' |
	xargs grep -nE '[[:space:]]+$' | cut -c1-100)"
# A string that a user reads stays in one piece, so that it can be searched for; such lines
# may be longer.
too_long() { # COLUMNS PATTERN...
	columns=$1
	shift
	report "more than $columns columns" "$(sources "$@" | xargs -n1 sh -c \
		'expand "$1" | awk -v f="$1" -v n="$0" "length > n && !/\x22/ { print f \":\" NR }"' "$columns")"
}
too_long 100 '*.c' '*.h' '*.asm' '*.inc' '*.cu' '*.cuh'
# The generators contain much of the text that they write.
too_long 120 '*.py'
report "more than 800 lines" "$(sources '*.c' '*.h' '*.asm' '*.py' '*.sh' '*.md' |
	xargs wc -l | awk '$2 != "total" && $1 > 800 { print $2 " has " $1 }')"
# A header with code that one file includes is a source, or a part of that file. `wire_*.h` are
# included by generated files besides. These stay as they are:
#   bench/layers*.h, tests/programs/nn_*.h	a CUDA program is one unit; one of two is chosen
#   server/session/reach.h			sizes that generated handlers compute by inline code
#   server/vm/guest-module/news.h		the module is one unit, since the hypercalls that
#						tests put under it have variables
#   tests/trampoline/fake_slots.h		a part of fake_host.h, which is the transport's unit
#   tests/lib/stand_ins.h, .../fuzz_cusolver_host.h	they share tests/unit/fuzz.h's variables
own_unit='^(bench/layers(_dnn)?|tests/programs/nn_(blas|cudnn|kernels)|server/session/reach|server/vm/guest-module/news|'
own_unit="$own_unit"'tests/trampoline/fake_slots|tests/lib/(stand_ins|fuzz_cusolver_host)|cuda-api/wire_[a-z]*)\.h$'
# Code is a function of more than 5 lines, or a table.
with_code() {
	sources '*.h' | grep -vE "$own_unit" | xargs awk '
		FNR == 1 { start = 0 }
		/^\{/ { start = FNR }
		/^\}/ && start { if (FNR - start > 6) print FILENAME; start = 0 }
		/^(static |const )[^(;]*\] = \{$/ { print FILENAME }' | sort -u
}
report "a header with code that one file includes" "$(with_code | while read -r h; do
	by=$(git grep -lE "^#[[:space:]]*include \"([^\"]*/)?${h##*/}\"")
	[ "$(echo "$by" | wc -l)" != 1 ] || [ -z "$by" ] || echo "$h, by $by"
done)"
report "left to do" "$(sources '*.c' '*.h' '*.asm' '*.py' '*.sh' ':!tools/style.sh' |
	xargs grep -nE '\b(TODO|FIXME|XXX)\b' | cut -c1-100)"
# Checks the includes between rooms (folders). The rooms are given from the ground floor up,
# one floor per word. A room may include what is below it, or itself, and nothing of another
# house. A file is named with its room, or without it if no other room has a file of that
# name.
includes_up() { # HOUSE FLOOR...
	house=$1
	shift
	sources "$house" | grep "^$house/[a-z]*/[^/]*\\.[ch]$" | awk -v floors="$*" '
		function look(from, line, to) {
			if (to ~ /\.\./ || to in floor && to != from && floor[to] >= floor[from])
				print file ":" line
		}
		BEGIN {
			n = split(floors, f, " ")
			for (i = 1; i <= n; i++) {
				m = split(f[i], r, "=")
				for (j = 1; j <= m; j++) floor[r[j]] = i
			}
		}
		{ list[NR] = $0; split($0, p, "/"); room[NR] = p[2]; has[p[2] "/" p[3]]; at[p[3]] = p[2] }
		END {
			for (k = 1; k <= NR; k++) {
				file = list[k]
				for (n = 1; (getline text <file) > 0; n++) {
					if (text !~ /^#[ \t]*include "/) continue
					split(text, q, "\"")
					to = q[2]
					sub(/^\.\.\//, "", to)
					if (to ~ /\//) sub(/\/[^\/]*$/, "", to)
					else if ((room[k] "/" to) in has || !(to in at)) continue
					else to = at[to]
					look(room[k], n ": " text, to)
				}
				close(file)
			}
		}'
}
# Prints the other folders of HOUSE as one floor: each library has a room of its own there.
others_of() { # HOUSE ROOM...
	house=$1
	shift
	for room in "$house"/*/; do
		room=$(basename "$room")
		case " $* " in *" $room "*) ;; *) printf '%s=' "$room" ;; esac
	done | sed 's/=$//'
}
report "an include that goes up or out" "$(includes_up server tenant protect state limits session libraries figures checkpoint daemon=vm
	includes_up softgpu ptx exec driver=standin nvml=rand=blas=fft=blaslt=solver=sparse=dnn
	includes_up client-stubs transport cuda cusparse "$(others_of client-stubs transport cuda cusparse)")"
# Who reads one file of a circle has to read all of it. Patches are in their own tree.
report "a circle of includes" "$(sources '*.c' '*.h' ':!kvm-patches' | /usr/bin/python3 tools/circles.py 3)"
# A connection of the client's knows nothing of the stubs that are made of it.
report "a connection that knows what lies above" "$(
	git grep -nE 'include "(stubs|callback|own)\.h"' -- client-stubs/cuda/client.h client-stubs/cuda/call.c client-stubs/cuda/process.c \
		'client-stubs/cuda/lock.[ch]' 'client-stubs/cuda/slots.[ch]' 'client-stubs/cuda/order.[ch]' \
		client-stubs/cuda/quick.h client-stubs/cuda/library.h)"
# Files that both ends read are in hypercall-abi/ and cuda-api/. No compiler gets the other
# end's folder.
report "sees the other end of a window" "$(
	git grep -nE 'I\$\(TOP\)/server|include "[./]*(server|tenant|protect|limits|session|libraries|checkpoint|daemon|vm)/' -- client-stubs
	git grep -nE 'I\$\(TOP\)/client-stubs|include "[./]*(client-stubs|cuda|transport)/' -- server)"
# Handlers and their hooks read requests. The rooms below must not know what a message looks
# like.
report "knows a request" "$(git grep -nE '\bwh_(req|rsp)_' -- server/limits server/state server/tenant)"
# Only docs/status.md and docs/known-limits.md say what is missing: in other places such sentences stay when
# they are no longer true.
report "says what is missing, as docs/status.md alone does" "$(sources '*.md' ':!docs/status.md' ':!docs/known-limits.md' | xargs grep -HniE \
	-e '^(#+ .*)?\b(not (yet|(built|done|there|implemented|supported) yet)|missing|to do)\b:?$' \
	-e '\b(limits?|quotas?|shares?)\b.*\b(not|never)( [a-z]+)? yet\b' \
	-e '\bno (limits?|quotas?|shares?)\b.*\byet\b' | cut -c1-100)"
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
