#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a worker takes a part that its client brings, and none that could harm it.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

plan 8
serve || { echo "Bail out! no server: $(cat "$tmp/serve")"; exit 1; }
M=1048576
offer() { /usr/bin/python3 "$WH_TOP/tests/ring/offer.py" "$WORMHOLE_DIR/server.sock" "$@"; }
is part_that_the_client_brings_is_used "$(offer $((8 * M)) $((4 * M)) $((4 * M)))" "0 same file"
refused="-7 cannot map the shared part"
is file_that_can_shrink_is_refused "$(offer $((8 * M)) 0 $((4 * M)) unsealed)" "$refused"
is part_behind_the_end_of_the_file_is_refused "$(offer $((8 * M)) $((8 * M)) $((4 * M)))" "$refused"
is part_that_ends_behind_it_is_refused "$(offer $((8 * M)) $((4 * M + 4096)) $((4 * M)))" "$refused"
is part_that_is_no_whole_pages_is_refused "$(offer $((8 * M)) 100 $((4 * M)))" "$refused"
like part_of_another_release_is_refused_by_its_version "$(offer $((8 * M)) 0 $((4 * M)) older)" \
	"^-[0-9]* the VM's relay has parts of version [0-9]*, the server of version [0-9]*: install the same"
like part_without_room_for_calls_is_refused "$(offer $((8 * M)) 0 $M)" "too small"
mkfifo "$tmp/silent"
offer 4096 0 4096 silent <"$tmp/silent" >"$tmp/said" 2>&1 &
exec 9>"$tmp/silent"
await grep -q connected "$tmp/said"
is client_that_offers_nothing_holds_up_nobody "$("$wormhole" run -- "$client" alloc=1048576)" ok
exec 9>&-
finish
