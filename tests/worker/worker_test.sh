#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises a worker's way from its command line to the moment where it parks, over a file
# that looks like the device and with softgpu as the backend; fake_worker.c has the checks.
set -u

here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
tmp=$(mktemp -d /dev/shm/wh-worker-XXXXXX)
trap 'rm -rf "$tmp"' EXIT

# The module's mmap offsets are the part at 0 and the trampoline at 1 TiB.
dd if=/dev/zero bs=1M count=2 2>/dev/null | tr '\0' 'x' >"$tmp/device"
dd if="$WH_BUILD/trampoline/page.bin" of="$tmp/device" bs=4096 seek=268435456 conv=notrunc 2>/dev/null

cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
run() {
	timeout 60 "$here/fake_worker" --device "$tmp/device" --window 1 --part 1 --part-size 2M \
		--cpu "$cpu" "$@" >"$tmp/out" 2>"$tmp/err"
}

echo "TAP version 13"
echo "1..16"
if [ "$(id -u)" != 0 ]; then
	i=0
	while [ $i -lt 16 ]; do i=$((i + 1)); echo "ok $i # SKIP needs root to lock memory"; done
	exit 0
fi

run --backend "$WH_BUILD/softgpu/libcuda.so.1" --uid 65533
rc=$?
n=0
while read -r line; do
	n=$((n + 1))
	echo "$line" | sed "s/ok /ok $n - /"
done <"$tmp/out"
while [ $n -lt 13 ]; do
	n=$((n + 1))
	echo "not ok $n - worker_got_that_far"
done
[ $rc = 0 ] && echo "ok 14 - worker_ends_well_when_its_client_has_gone" ||
	{ echo "not ok 14 - worker_ends_well_when_its_client_has_gone"; sed 's/^/# /' "$tmp/err"; }

run --backend /nonexistent/libcuda.so.1
[ $? = 1 ] && grep -q "window 1 part 1: /nonexistent/libcuda.so.1: " "$tmp/err" &&
	echo "ok 15 - missing_backend_is_named" || { echo "not ok 15 - missing_backend_is_named"; sed 's/^/# /' "$tmp/err"; }

printf '\220' | dd of="$tmp/device" bs=1 seek=$((268435456 * 4096 + 4000)) conv=notrunc 2>/dev/null
run --backend "$WH_BUILD/softgpu/libcuda.so.1"
[ $? = 1 ] && grep -q "trampoline is not this worker's" "$tmp/err" &&
	echo "ok 16 - other_trampoline_is_refused" || { echo "not ok 16 - other_trampoline_is_refused"; sed 's/^/# /' "$tmp/err"; }
