#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the stored series applies to the kernel source that BASE names and
# carries the ABI header unchanged. The exported series is that and the selftests, and checkpatch
# has nothing to say. backport_test.sh tests what backport.sh makes of it.
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
build=${WH_BUILD:-$top/build}
patches=$top/kvm-patches
selftests=tools/testing/selftests/kvm
. "$top/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if ! O=$build "$patches/get-files.sh" "$tmp/base" "$patches/series" scripts/checkpatch.pl \
	scripts/spelling.txt scripts/const_structs.checkpatch; then
	! O=$build "$patches/get-source.sh" "$patches/BASE" >/dev/null 2>&1 || exit 1
	skip_all "no source of $(sed -n 's/^package //p' "$patches/BASE")"
fi
export KERNEL_SOURCE="$tmp/base"

listed() { (cd "$patches" && ls ./*.patch) | sed 's|^\./||' | diff "$patches/series" -; }

refused() {
	cp -a "$tmp/base" "$tmp/other"
	sed -i 's/^VERSION = .*/VERSION = 5/' "$tmp/other/Makefile"
	said=$("$patches/apply.sh" "$tmp/other" 2>&1)
	[ $? = 2 ] && case $said in *"Linux 5."*) ;; *) false ;; esac &&
		[ ! -e "$tmp/other/arch/x86/kvm/vmx/wormhole.c" ]
}

# applied applies the series as a user does it, in a tree that git does not know.
applied() {
	cp -a "$tmp/base" "$tmp/applied"
	"$patches/apply.sh" "$tmp/applied" && [ -f "$tmp/applied/arch/x86/kvm/vmx/wormhole.c" ]
}

# exported applies it as a maintainer does it.
exported() {
	cp -a "$tmp/base" "$tmp/exported"
	while read -r patch; do
		patch -s -p1 -F0 --no-backup-if-mismatch -d "$tmp/exported" <"$tmp/out/$patch" || return
	done <"$tmp/out/series"
	diff -r "$tmp/applied" "$tmp/exported"
}

# stored compares the patches, but for their number in the subject.
stored() {
	paste -d' ' "$patches/series" "$tmp/out/series" | head -n "$(wc -l <"$patches/series")" |
		while read -r from to; do
			sed '1,/^$/s|\[PATCH [0-9/]*\]|[PATCH]|' "$patches/$from" >"$tmp/stored"
			sed '1,/^$/s|\[PATCH [0-9/]*\]|[PATCH]|' "$tmp/out/$to" | diff "$tmp/stored" -
		done >"$tmp/diff"
	cat "$tmp/diff"
	[ ! -s "$tmp/diff" ]
}

# The cover letter has number 0.
numbered() {
	total=$(wc -l <"$tmp/out/series")
	for f in 0000-cover-letter.patch $(cat "$tmp/out/series"); do
		sed -n '1,/^$/s|^Subject: \[PATCH \([0-9/]*\)\].*|\1|p' "$tmp/out/$f"
	done >"$tmp/numbers"
	seq -f "%02g/$total" 0 "$total" | diff - "$tmp/numbers"
}

# The files in x86_64/ here are in x86/ in newer kernels.
sources() { (cd "$patches/selftests" && ls x86_64/*.c lib/x86_64/*.c include/x86_64/*.h); }
in_kernel() {
	arch=x86_64
	[ ! -e "$tmp/base/$selftests/Makefile.kvm" ] || arch=x86
	echo "$1" | sed "s|x86_64/|$arch/|"
}

each_source() { # COMMAND
	for f in $(sources); do
		"$1" "$f" "$(in_kernel "$f")" || echo "$f"
	done >"$tmp/wrong"
	cat "$tmp/wrong"
	[ ! -s "$tmp/wrong" ]
}
same() { cmp -s "$patches/selftests/$1" "$tmp/exported/$selftests/$2"; }
named() {
	grep -qxF "F:	$selftests/$2" "$tmp/exported/MAINTAINERS" || return
	case $2 in
	*.h) ;;
	lib/*) grep -qx "LIBKVM_x86[_64]* += $2" "$tmp/exported/$selftests"/Makefile* ;;
	*) grep -qx "TEST_GEN_PROGS_x86[_64]* += ${2%.c}" "$tmp/exported/$selftests"/Makefile* ;;
	esac
}

checked() {
	(cd "$tmp/out" && xargs "$tmp/base/scripts/checkpatch.pl" --no-tree --strict --terse \
		--no-signoff --no-summary <series) >"$tmp/said" 2>&1
	head -n 40 "$tmp/said"
	[ ! -s "$tmp/said" ]
}

# No patch is signed off, because only the person who posts the series can do that.
unsigned() { ! (cd "$tmp/out" && xargs grep '^Signed-off-by: ' <series) | grep .; }

# again exports once more with other names, formats and times than the machine's.
again() {
	printf '[user]\nname = N\nemail = n@n\n[format]\nsignature = s\n[core]\nabbrev = 20\n' >"$tmp/git"
	GIT_CONFIG_GLOBAL=$tmp/git GIT_AUTHOR_NAME=A GIT_COMMITTER_DATE=1 TZ=Asia/Tokyo \
		"$patches/export.sh" "$tmp/again" && diff -r "$tmp/out" "$tmp/again"
}

plan 13
ok series_lists_every_patch_in_order listed
ok tree_of_another_version_is_refused refused
ok series_applies_without_fuzz applied
ok series_carries_the_abi_header_unchanged cmp "$top/hypercall-abi/wormhole_abi.h" \
	"$tmp/applied/arch/x86/include/uapi/asm/wormhole_abi.h"
ok series_is_exported "$patches/export.sh" "$tmp/out"
ok exported_series_applies_and_leaves_what_apply_leaves exported
ok exported_kvm_patches_are_the_stored_ones stored
ok exported_patches_and_cover_letter_are_numbered_in_order numbered
ok exported_series_carries_the_selftests_as_they_are_run each_source same
ok exported_series_names_every_selftest_to_make_and_maintainers each_source named
ok checkpatch_strict_is_silent checked
ok no_patch_is_signed_off_yet unsigned
ok same_sources_are_exported_as_the_same_bytes again
finish
