#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Of a product by cuSPARSE with descriptors of its own, those of vectors make no request once the same
# were made. Those of its matrix do, its buffer's size and the product. Over the fake library.
. "$(dirname "$0")/lib.sh"

# Requests of a program that makes so many products, and how many are waited for.
requests() {
	WORMHOLE_STATS=1 timeout 60 "$bin/cusparse" requests "$1" 2>&1 >"$tmp/out" |
		sed -n 's/^wormhole: \([0-9]*\) requests went to the worker, \([0-9]*\) of .*/\1 \2/p'
}

echo "TAP version 13"
echo "1..2"
start_server
few=$(requests 6) && [ "${few% *}" -gt 0 ]
point "products_are_made"
many=$(requests 106)
more="$((${many% *} - ${few% *})) $((${many#* } - ${few#* }))"
[ "$more" = "400 400" ]
point "each_more_with_its_vectors_is_four_requests" || echo "# $more"
