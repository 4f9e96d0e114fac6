#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a product by cuSPARSELt is one request to the worker, though all that
# describes it is made, set, asked for and destroyed for it, once the same product was described
# before. None is waited for. It runs over the fake library.
. "$(dirname "$0")/lib.sh"

plan 2
start_server
few=$(requests cusparselt 6) && [ "${few% *}" -gt 0 ]
point "products_are_made"
more=$(hundred cusparselt) && [ "$more" = "100 0" ]
point "each_more_with_all_that_describes_it_is_one_request_and_no_wait" || echo "# $more"
