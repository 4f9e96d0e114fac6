#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A product by cuSPARSELt is one request to the worker, though all that describes it is made, set,
# asked for and destroyed for it, once the same was described; none is waited for. Over the
# fake library.
. "$(dirname "$0")/lib.sh"

# Requests of a program that makes so many products, and how many are waited for.
requests() {
	WORMHOLE_STATS=1 timeout 60 "$bin/cusparselt" requests "$1" 2>&1 >"$tmp/out" |
		sed -n 's/^wormhole: \([0-9]*\) requests went to the worker, \([0-9]*\) of .*/\1 \2/p'
}

echo "TAP version 13"
echo "1..2"
start_server
few=$(requests 6) && [ "${few% *}" -gt 0 ]
point "products_are_made"
many=$(requests 106)
more="$((${many% *} - ${few% *})) $((${many#* } - ${few#* }))"
[ "$more" = "100 0" ]
point "each_more_with_all_that_describes_it_is_one_request_and_no_wait" || echo "# $more"
