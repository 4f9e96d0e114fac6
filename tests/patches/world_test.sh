#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the selftests' header is right about what a trampoline reads and KVM does
# not. That header is alone in the kernel's tree. Its world page and the front of its slot must be
# those of hypercall-abi/window.h, and so must every number that both have.
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
abi=$top/hypercall-abi
selftests=$top/kvm-patches/selftests/include
. "$top/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

structs() { sed -n 's/^struct \(wh_[a-z_]*\) {.*/\1/p' "$1" | sort; }
numbers() { sed -n 's/^#define \([A-Z][A-Z0-9_]*\)[[:space:]].*/\1/p' "$1" | sort; }
both() { # LIST: of what has a name in both headers
	"$1" "$abi/window.h" >"$tmp/ours"
	"$1" "$selftests/x86_64/wormhole.h" | comm -12 "$tmp/ours" -
}

# common prints what both headers have, for the program that prints a layout. Of a slot it prints
# what stands before the words of the other transport; padding has no name of its own.
common() {
	for s in $(both structs); do
		case $s in
		wh_slot) sed -n "/^MEMBER($s, /p; /^MEMBER($s, calls)/q" "$abi/members.h" | grep -v ', pad' ;;
		*) sed -n "/^STRUCT($s)/,/^END($s)/p" "$abi/members.h" ;;
		esac
	done
	both numbers | sed 's/.*/NUMBER(&)/'
}

# layout NAME CFLAGS... prints what a compiler makes of NAME/window.h, which may be there already.
layout() {
	cp "$abi/layout.c" "$tmp/members.h" "$tmp/$1/" || return
	into=$tmp/$1
	shift
	gcc -std=gnu11 -D_GNU_SOURCE "$@" -o "$into/layout" "$into/layout.c" && "$into/layout" >"$into/said"
}
ours() { mkdir "$tmp/ours.d" && cp "$abi/window.h" "$tmp/ours.d" && layout ours.d -I"$abi"; }

# theirs NAME [EDIT] makes the selftests' header, or an edited one that says something else.
theirs() {
	mkdir "$tmp/$1" && echo '#include "wormhole.h"' >"$tmp/$1/window.h" &&
		sed "${2:-}" "$selftests/x86_64/wormhole.h" >"$tmp/$1/wormhole.h" &&
		layout "$1" -I"$selftests/standalone" -I"$abi"
}
same() { theirs "$1" "${2:-}" && diff -u "$tmp/ours.d/said" "$tmp/$1/said"; }
differs() { theirs "$1" "$2" && ! cmp -s "$tmp/ours.d/said" "$tmp/$1/said"; }

plan 6
is both_describe_the_world_and_a_slot "$(both structs | tr '\n' ' ')" "wh_slot wh_world wh_world_self wh_world_slot wh_world_stack wh_world_vdso "
is and_where_it_is "$(both numbers | grep -c -x -e WH_WORLD_VA -e WH_WORLD_CLIENT -e WH_WORLD_SERVER -e WH_MAX_HANDLERS)" 4
common >"$tmp/members.h"
ok ours_has_a_layout ours
ok selftests_have_the_same same theirs
ok member_of_another_size_is_seen differs larger '/^struct wh_world {/,/^}/s/u32 nhandlers/u64 nhandlers/'
ok number_of_another_value_is_seen differs more 's/^#define WH_MAX_HANDLERS.*/#define WH_MAX_HANDLERS 17/'
finish
