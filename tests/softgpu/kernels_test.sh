#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that kernels from nvcc run right, in whatever form and by whatever call they
# are loaded. It needs nvcc at build time (skipped without), no hardware.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/tests/tap.sh"
dir=$WH_BUILD/tests/softgpu
run=$dir/kernels
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

judge() { point "$1" || sed 's/^/# /' "$tmp/err"; }

works() {	# works WAY IMAGE NAME
	"$run" "$1" "$dir/$2" > "$tmp/out" 2> "$tmp/err"
	judge "$3"
}

refused() {	# refused ERROR WAY IMAGE NAME
	! "$run" "$2" "$dir/$3" > "$tmp/out" 2> "$tmp/err" &&
		grep -q "$1\$" "$tmp/err"
	judge "$4"
}

faults() {	# faults KIND NAME
	"$run" memory "$dir/kernels.ptx" "$1" > "$tmp/out" 2> "$tmp/err"
	judge "$2"
}

[ -e "$dir/images.stamp" ] || skip_all "nvcc was missing when the tests were built"
plan 20
works file kernels.ptx ptx_loads_from_a_file
works memory kernels.ptx ptx_loads_from_memory
works memory kernels_none.fatbin a_plain_fatbin_loads
works memory kernels_speed.fatbin an_lz4_fatbin_loads
works memory kernels_balance.fatbin a_zstd_fatbin_loads
works memory kernels_size.fatbin a_dense_fatbin_loads
works file kernels_size.fatbin a_fatbin_loads_from_a_file
works wrapper kernels_size.fatbin a_wrapper_loads
works prelinked kernels_size.fatbin a_wrapper_of_version_2_loads
works library kernels_size.fatbin a_library_loads
works library_file kernels_none.fatbin a_library_loads_from_a_file
printf 'block 0 says 7, a text and 1.50\nblock 1 says 7, a text and 1.50\n' \
	> "$tmp/want"
cmp "$tmp/want" "$tmp/out" > "$tmp/err"
judge kernels_print_to_the_standard_output
refused CUDA_ERROR_NO_BINARY_FOR_GPU memory kernels_sass.fatbin \
	machine_code_alone_is_no_binary
refused CUDA_ERROR_NO_BINARY_FOR_GPU memory kernels.cubin \
	a_cubin_is_no_binary
refused CUDA_ERROR_FILE_NOT_FOUND file kernels.absent a_missing_file_is_named
faults beyond a_store_beyond_an_allocation_is_an_illegal_address
faults freed a_store_to_freed_memory_is_an_illegal_address
faults stack a_store_to_the_host_stack_is_an_illegal_address
faults constant a_global_store_to_constant_memory_is_none
faults assert a_failed_assertion_is_reported
finish
