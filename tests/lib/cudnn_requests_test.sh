#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An execution by cuDNN is one request to the worker, though its variant pack is made, set,
# finalized and destroyed for it. Over the fake library.
. "$(dirname "$0")/lib.sh"

# Requests of a program that executes a plan so many times.
requests() {
	WORMHOLE_STATS=1 timeout 60 "$bin/cudnn" requests "$1" 2>&1 >"$tmp/out" |
		sed -n 's/^wormhole: \([0-9]*\) requests.*/\1/p'
}

echo "TAP version 13"
echo "1..2"
start_server
one=$(requests 1) && [ "$one" -gt 0 ]
point "plan_is_executed"
two=$(requests 2) && many=$(requests 102)
[ $((many - two)) = 100 ]
point "each_more_with_its_variant_pack_is_one_request" ||
	echo "# one: $one, two: $two, a hundred and two: $many"
