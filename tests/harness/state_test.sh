#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that `make test` leaves out the kernel tests only while nothing changed that
# they depend on (tests/kernel/state.sh).
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/tests/bochs"
cp -r "$WH_TOP/kvm-patches" "$tmp/"
cp -r "$WH_TOP/tests/kernel" "$tmp/tests/"
find "$WH_TOP/tests/bochs" -maxdepth 1 -type f -exec cp -t "$tmp/tests/bochs" '{}' +
state=$tmp/tests/kernel/state.sh
passed() { "$state" passed && echo yes || echo no; }
# changed FILE says whether they count as passed after a change to it, and takes that back.
changed() {
	cp "$tmp/$1" "$tmp/kept"
	echo >>"$tmp/$1"
	passed
	cp "$tmp/kept" "$tmp/$1"
}

plan 8
rm -f "$tmp/tests/kernel/passed"
is without_a_record_they_run "$(passed)" no
"$state" keep
is what_passed_does_not_run_again "$(passed)" yes
is a_changed_patch_makes_them_run "$(changed "$(cd "$tmp" && echo kvm-patches/0002-*.patch)")" no
is a_changed_selftest_makes_them_run "$(changed kvm-patches/selftests/x86_64/wormhole_race_test.c)" no
is a_changed_machine_makes_them_run "$(changed tests/bochs/tlb.patch)" no
is a_changed_document_does_not "$(changed kvm-patches/README.md)" yes
is taking_a_change_back_counts "$(passed)" yes
: >"$tmp/kvm-patches/selftests/x86_64/one_more_test.c"
is a_new_selftest_makes_them_run "$(passed)" no
finish
