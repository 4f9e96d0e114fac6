#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that what a library asks before each of its calls makes no request:
# asked_test.c asks twice and a thousand times more.
. "$(dirname "$0")/lib.sh"

requests() {
	WORMHOLE_STATS=1 timeout 60 "$bin/asked" "$1" 2>&1 >/dev/null |
		sed -n 's/^wormhole: info: \([0-9]*\) requests.*/\1/p'
}

plan 1
start_server
few=$(requests 2) many=$(requests 1002)
[ "$few" -gt 0 ] && [ "$few" = "$many" ]
point "a_thousand_questions_more_are_no_request_more" || echo "# 2: $few, 1002: $many"
