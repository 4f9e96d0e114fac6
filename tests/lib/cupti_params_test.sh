#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The arguments that a callback gets are laid out as CUPTI's headers say, for each function that is
# watched (cuda-api/watched.py), and each function that CUPTI numbers is watched.
. "$WH_TOP/tests/tap.sh"
PYTHON=${PYTHON:-/usr/bin/python3}
inc=${CUDA_INC:-$WH_BUILD/nvcc/include}
[ -e "$inc/cuda.h" ] || inc=/usr/local/cuda/include
[ -e "$inc/cupti.h" ] && cupti=$inc || cupti=$WH_BUILD/headers

compare() { # WHAT: prints the functions that are otherwise, and fails if few have arguments at all
	CUDA_INC=$inc PYTHONPATH=$WH_TOP/cuda-api "$PYTHON" -B "$WH_TOP/tests/lib/cupti_params.py" "$1" "$cupti" \
		"$WH_BUILD/gen"
}

plan 4
is arguments_of_the_driver_are_those_of_its_header "$(compare driver || echo failed)" ""
is arguments_of_the_runtime_are_those_of_its_header "$(compare runtime || echo failed)" ""
is each_function_of_the_driver_that_has_a_number_is_watched "$(compare driver-numbers || echo failed)" ""
is each_function_of_the_runtime_that_has_a_number_is_watched "$(compare runtime-numbers || echo failed)" ""
finish
