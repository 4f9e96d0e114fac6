#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises how many requests a product by cuSPARSE with descriptors of its own makes. The
# descriptors of vectors make none once the same ones were made. The matrix's descriptor, the size
# of the buffer and the product make requests. It runs over the fake library.
. "$(dirname "$0")/lib.sh"

plan 2
start_server
few=$(requests cusparse 6) && [ "${few% *}" -gt 0 ]
point "products_are_made"
more=$(hundred cusparse) && [ "$more" = "400 400" ]
point "each_more_with_its_vectors_is_four_requests" || echo "# $more"
