#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Of a product by cuSPARSE with descriptors of its own, those of vectors make no request once the same
# were made. Those of its matrix do, its buffer's size and the product. Over the fake library.
. "$(dirname "$0")/lib.sh"

echo "TAP version 13"
echo "1..2"
start_server
few=$(requests cusparse 6) && [ "${few% *}" -gt 0 ]
point "products_are_made"
more=$(hundred cusparse) && [ "$more" = "400 400" ]
point "each_more_with_its_vectors_is_four_requests" || echo "# $more"
