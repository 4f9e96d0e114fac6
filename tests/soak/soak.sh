#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make soak` runs its parts beside each other for SECONDS (3600) each, which includes the time of
# earlier runs, and puts their tables into docs/soak.md. If it is stopped at any time, it goes on
# where it was; without build/soak/ it begins anew.
#
# 	soak.sh [SECONDS [SEED]]
#
# The exit status is 1 if anything was found; build/soak/*/finds/ has it.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${O:-$top/build}
seconds=${1:-3600}
seed=${2:-$(date +%s)}
out=$build/soak
mkdir -p "$out"
# The commit is that of what was built when the soak began.
[ -s "$out/commit" ] || git -C "$top" describe --always --dirty >"$out/commit"
export WH_BUILD=$build O=$build

"$top/tests/soak/kernel.sh" "$seconds" "$seed" >"$out/kernel.log" 2>&1 &
kernel=$!
"$top/tests/soak/user.sh" "$seconds" "$seed" >"$out/user.log" 2>&1 &
user=$!
WH_SOAK_HALF=quota WH_SOAK_PARTS=programs "$top/tests/soak/user.sh" "$seconds" "$seed" >"$out/quota.log" 2>&1 &
quota=$!
trap 'kill $kernel $user $quota 2>/dev/null; exit 130' INT TERM HUP
while kill -0 $kernel 2>/dev/null || kill -0 $user 2>/dev/null || kill -0 $quota 2>/dev/null; do
	sleep 10
	printf '  %-8s kernel: %s\n' SOAK "$(tail -qn1 "$out/kernel/progress" 2>/dev/null | cut -c1-60)"
	printf '  %-8s user: %s\n' SOAK "$(tail -n1 "$out/user.log" | cut -c1-90)"
	printf '  %-8s quota: %s\n' SOAK "$(tail -n1 "$out/quota.log" | cut -c1-90)"
done
wait $kernel
rc=$?
wait $user || rc=1
wait $quota || rc=1

record() {
	sed -n '1,/<!-- soak: begin/p' "$top/docs/soak.md"
	echo
	echo "Commit $(cat "$out/commit"), $(date -u +%F), seed $(cat "$out/kernel/seed" 2>/dev/null)," \
		"$(nproc) cores."
	echo
	cat "$out/kernel/table.md"
	echo
	cat "$out/user/table.md"
	echo
	cat "$out/quota/table.md"
	echo
	sed -n '/<!-- soak: end/,$p' "$top/docs/soak.md"
}
if [ -s "$out/kernel/table.md" ] && [ -s "$out/user/table.md" ] && [ -s "$out/quota/table.md" ]; then
	record >"$out/soak.md" && cp "$out/soak.md" "$top/docs/soak.md"
fi
cat "$out"/*/table.md
[ $rc = 0 ] || echo "error: finds in $out/*/finds; see there, or $out/*.log" >&2
exit $rc
