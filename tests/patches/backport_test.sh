#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that backport.sh makes a series for Debian 12's kernel which applies there,
# has the series' own files byte for byte, and is what is built and packaged.
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
build=${WH_BUILD:-$top/build}
patches=$top/kvm-patches
. "$top/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$patches/backport.sh" 6.12 "$tmp/made" || exit 1
if ! O=$build "$patches/get-files.sh" "$tmp/base" "$tmp/made/series"; then
	! O=$build "$patches/get-source.sh" "$patches/6.12/BASE" >/dev/null 2>&1 || exit 1
	skip_all "no source of $(sed -n 's/^package //p' "$patches/6.12/BASE")"
fi

no_such() {
	said=$("$patches/backport.sh" 5.10 "$tmp/none" 2>&1)
	[ $? = 2 ] && case $said in *5.10*6.12*) ;; *) false ;; esac && [ ! -e "$tmp/none" ]
}

# applied applies the series as a user does it, in a tree that git does not know.
applied() { cp -a "$tmp/base" "$tmp/applied" && "$patches/apply.sh" "$tmp/applied"; }

# mailed applies it as a maintainer of that kernel does it.
mailed() {
	cp -a "$tmp/base" "$tmp/mailed"
	(cd "$tmp/mailed" && git -c init.defaultBranch=b init -q && git add -f . &&
		git -c user.name=n -c user.email=e commit -qm base &&
		sed 's|^|../made/|' ../made/series |
			xargs git -c user.name=n -c user.email=e am -q)
}

# own_files lists the files that patches make, as they are in a tree that the series was applied
# to.
own_files() {
	(cd "$patches" && xargs cat <series) |
		awk '/^--- \/dev\/null/ { getline; print substr($2, 3) }' | sort -u >"$tmp/own"
	[ "$(wc -l <"$tmp/own")" -gt 15 ] || return
	O=$build "$patches/get-files.sh" "$tmp/newer" || return
	while read -r patch; do
		patch -s -p1 -F0 --no-backup-if-mismatch -d "$tmp/newer" <"$patches/$patch" || return
	done <"$patches/series"
	while read -r f; do cmp "$tmp/newer/$f" "$tmp/applied/$f" || return; done <"$tmp/own"
}

hooks_only() {
	! grep -n '^--- /dev/null' "$patches/6.12/hooks.patch"
}

again() { TZ=Asia/Tokyo LANG=C "$patches/backport.sh" 6.12 "$tmp/again" && diff -r "$tmp/made" "$tmp/again"; }
built() { diff -r "$tmp/made" "$build/series-6.12"; }

plan 8
ok version_without_hooks_is_refused no_such
ok it_applies_to_that_kernel_without_fuzz applied
ok and_by_git_am mailed
ok the_series_own_files_are_the_same_there own_files
ok hooks_make_no_file hooks_only
ok it_carries_the_abi_header_unchanged cmp "$top/hypercall-abi/wormhole_abi.h" \
	"$tmp/applied/arch/x86/include/uapi/asm/wormhole_abi.h"
ok same_sources_make_the_same_bytes again
ok it_is_what_is_built built
finish
