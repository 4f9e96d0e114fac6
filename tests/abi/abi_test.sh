#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the layout of the ABI headers is the committed one, that every number and
# member is listed for NASM and for the layout table, and that the headers compile alone. It needs
# gcc, g++ and nasm.
set -u

here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
. "$WH_TOP/tests/tap.sh"
abi=$WH_TOP/hypercall-abi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

judge() { point "$1" || sed 's/^/# /' "$tmp/log"; }

plan 8

"$WH_BUILD/hypercall-abi/layout" | diff -u "$abi/layout.ref" - >"$tmp/log" 2>&1
judge layout_is_the_committed_one

# A member that members.h leaves out shows as a gap, so a layout without gaps lists all members.
! grep '(gap)' "$abi/layout.ref" >"$tmp/log"
judge every_member_is_listed

# Function-like macros and the include guard are no numbers.
sed -n 's/^#define \([A-Z][A-Z0-9_]*\)[[:space:]].*/\1/p' "$abi/wormhole_abi.h" "$abi/window.h" |
	sort >"$tmp/want"
sed -n 's/^NUMBER(\(.*\))$/\1/p' "$abi/members.h" | sort >"$tmp/have"
diff "$tmp/want" "$tmp/have" >"$tmp/log"
judge every_number_is_listed

sed -n 's/^struct \(wh_[a-z_]*\) {.*/\1/p' "$abi/wormhole_abi.h" "$abi/window.h" |
	sort >"$tmp/want"
sed -n 's/^STRUCT(\(.*\))$/\1/p' "$abi/members.h" | sort >"$tmp/have"
diff "$tmp/want" "$tmp/have" >"$tmp/log"
judge every_struct_is_listed

for lang in "c gnu89" "c gnu11" "c++ c++17"; do
	set -- $lang
	name=$(echo "$2" | tr -c 'a-z0-9\n' p)
	: >"$tmp/log"
	for h in wormhole_abi.h window.h hypercall.h; do
		[ "$1 $h" != "c hypercall.h" ] || [ "$2" = gnu11 ] || continue
		printf '#include "%s"\n' "$h" >"$tmp/x.c"
		gcc -x "$1" -std="$2" -Wall -Wextra -Wpedantic -Wno-long-long -Werror \
			-fsyntax-only -I"$abi" "$tmp/x.c" >>"$tmp/log" 2>&1 || echo "$lang $h" >>"$tmp/log"
	done
	[ ! -s "$tmp/log" ]
	judge "headers_compile_alone_as_$name"
done

# NASM reads the generated constants, and a few are what C says.
cat >"$tmp/x.asm" <<'END'
%include "wormhole_abi.inc"
%if wh_slot.calls != 40 || wh_world.slots != 536 || wh_world_slot_size != 32
  %error offsets differ
%endif
%if WH_EGONE != -8 || WH_LEAF_CONTINUE != 0x57480032
  %error numbers differ
%endif
END
nasm -f elf64 -Werror -I"$WH_BUILD/gen/" -o "$tmp/x.o" "$tmp/x.asm" >"$tmp/log" 2>&1
judge nasm_reads_the_constants
finish
