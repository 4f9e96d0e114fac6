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
answers_dir=$tmp
. "$WH_TOP/tests/tap.sh"
. "$here/answers.sh"

"$WH_BUILD/tests/softgpu/answers" >"$tmp/out" 2>/dev/null
sections=$(sed -n 's/^\[\(.*\)\]$/\1/p' "$here/answers.ref")
plan "$(echo "$sections" | wc -l)"
for s in $sections; do
	is "answers_of_${s}_are_those_of_the_driver" \
		"$(differences "$s" "$here/answers.ref" "$tmp/out" "$here/answers.known")" ""
done
finish
