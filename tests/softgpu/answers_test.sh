#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that softgpu answers each call as the real driver does, with right and with
# wrong arguments. answers.ref is what driver 580.159 answered on an H200 (the output of the same
# program). answers.known lists where softgpu differs, line by line, with the reason. It needs no
# hardware.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
here=$WH_TOP/tests/softgpu
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0
bad=0

# section NAME FILE prints one section of a record.
section() {	# section NAME FILE
	awk -v want="[$1]" '/^\[/ { on = ($0 == want); next } on' "$2"
}

"$WH_BUILD/tests/softgpu/answers" > "$tmp/out" 2> "$tmp/err"
sections=$(sed -n 's/^\[\(.*\)\]$/\1/p' "$here/answers.ref")

echo "TAP version 13"
echo "1..$(echo "$sections" | wc -l)"
for s in $sections; do
	n=$((n + 1))
	section "$s" "$here/answers.ref" > "$tmp/ref"
	section "$s" "$tmp/out" > "$tmp/got"
	section "$s" "$here/answers.known" | grep '^[<>]' > "$tmp/known"
	diff "$tmp/ref" "$tmp/got" | grep '^[<>]' > "$tmp/diff"
	if cmp -s "$tmp/known" "$tmp/diff"; then
		echo "ok $n - answers_of_${s}_are_those_of_the_driver"
		continue
	fi
	bad=1
	echo "not ok $n - answers_of_${s}_are_those_of_the_driver"
	diff "$tmp/known" "$tmp/diff" | sed 's/^/# /'
done
exit $bad
