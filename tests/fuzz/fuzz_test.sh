#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test runs one fuzz target, which this script's own name says. It promises that no kept input
# is a find any more, and that some seconds of new inputs find nothing. `make soak` goes on where
# this ends.
here=$(cd "$(dirname "$0")" && pwd)
target=$(basename "$0" .t)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
. "$WH_TOP/tests/tap.sh"

plan 3
if [ ! -x "$here/$target" ]; then
	for p in kept_inputs_do_no_harm new_ones_neither and_they_get_somewhere; do
		skip $p "needs clang-14 and its runtime (tools/debian-packages)"
	done
	finish
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT PIPE TERM
seed=$(date +%s)
# The first seconds are for the kept inputs, because a process for each takes time.
case $target in
requests | libraries | ring) seconds=30 ;;
*) seconds=5 ;;
esac
said=$("$here/run.sh" "$target" "$seconds" "$tmp/new" "$seed" 2>&1)
rc=$?
places=$(echo "$said" | sed -n 's/.* runs, \([0-9]*\) places.*/\1/p')
all_kept() { [ -n "$places" ] && case $said in *"not all kept ones ran"*) false ;; esac; }
ok kept_inputs_do_no_harm all_kept
is new_ones_neither $rc 0
diag "seed $seed: $said"
# A find is worth more than the folder in which it lies, so it is copied.
for f in "$tmp"/*/find-*; do
	[ -f "$f" ] || continue
	cp "$f" "$here/"
	diag "kept: $here/${f##*/}"
done
least=$(cat "$WH_TOP/tests/fuzz/corpus/$target.least")
ok and_they_get_somewhere [ "${places:-0}" -ge "$least" ]
diag "$places places, at least $least"
finish
