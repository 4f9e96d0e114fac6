#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a product by cublasLt is one request to the worker, although the program
# makes, sets and destroys descriptor, layouts and preference, and asks for an algorithm, anew for
# each product. It runs over softgpu's library.
. "$(dirname "$0")/lib.sh"
[ -e "$WORMHOLE_CUBLASLT" ] || skip_all "no nvcc when softgpu's libraries were to be built"

plan 2
start_server
one=$(requests cublaslt 1) && [ "${one% *}" -gt 0 ]
point "products_are_made"
two=$(requests cublaslt 2) && many=$(requests cublaslt 102)
[ $((${many% *} - ${two% *})) = 100 ]
point "each_more_with_its_descriptors_and_its_heuristic_is_one_request" ||
	echo "# one: $one, two: $two, a hundred and two: $many"
