#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a tenant whose worker never comes to rest keeps others from room under `serve
# --overcommit' less and less. The worker is stopped; the device has 64 MiB.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/tenant/books.sh"

export WORMHOLE_SOFTGPU_MEM=64M
# tried adds the process that asks the driver now to a list, with the time of its start, in the
# kernel's ticks. It may be seen late on a busy machine.
tried() {
	p=$(pgrep -P "$m" -f -- '--checkpoint suspend') || return 1
	! grep -q "^$p " "$tmp/tried" || return 1
	at=$(sed 's/.*) //' "/proc/$p/stat" | cut -d' ' -f20)
	[ -n "$at" ] || return 1
	echo "$p $at" >>"$tmp/tried"
}
last_pause_ms() {
	tail -n 2 "$tmp/tried" | awk -v hz="$(getconf CLK_TCK)" '
		{ pause = $2 - last; last = $2 }
		END { print int(pause * 1000 / hz) }'
}

plan 3
serve --nvml none --worker-uid none --overcommit=100ms
m=$(monitor)
: >"$tmp/tried"
for t in a b; do "$wormhole" tenant create "$t" --mem 48M; done
start x --tenant a -- alloc=$((40 * M)) copy=65536
w=$(worker a)
halt "$w"
# Who has not called for a second is not waited for long.
idle=$(($(now_ms) + 1200))
await eval '[ "$(now_ms)" -ge $idle ]'
"$wormhole" run --tenant b -- "$client" alloc=$((40 * M)) >"$tmp/b" 2>&1 </dev/null &
b=$!
for n in 1 2 3 4; do await tried; done
ok a_tenant_that_does_not_come_to_rest_is_tried_again await tried
ok but_later_each_time [ "$(last_pause_ms)" -ge 2000 ]
diag "$(last_pause_ms) ms after the one before"
kill -CONT "$w"
wait $b
is and_leaves_when_it_does "$(cat "$tmp/b")" ok
finish_client x
finish
