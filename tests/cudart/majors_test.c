// SPDX-License-Identifier: Apache-2.0
// The test promises that a program of CUDA 13 may have a library of CUDA 12: each has its own
// runtime and last error, and both work with the same memory and streams.
#include <cuda_runtime_api.h>

#include "../tap.h"
#include "majors.h"

#if CUDART_VERSION / 1000 != 13
#error "this file takes the headers of CUDA 13"
#endif

int main(void)
{
	struct cudaDeviceProp p;
	cudaStream_t stream;
	int version = 0;
	void *memory;

	tap_plan(7);
	ok_eq(version_12() / 1000, 12, "the_library_has_a_runtime_of_12");
	ok(!cudaRuntimeGetVersion(&version) && version / 1000 == 13, "the_program_has_one_of_13");
	ok(!cudaGetDeviceProperties(&p, 0) && p.multiProcessorCount == processors_12(),
	   "each_gets_the_properties_in_its_own_struct");
	memory = memory_12(4096);
	stream = stream_12();
	ok(memory && stream && !cudaMemsetAsync(memory, 7, 4096, stream) &&
	   !cudaStreamSynchronize(stream) && first_byte_12(memory) == 7,
	   "memory_and_streams_of_one_serve_the_other");
	ok_eq(fail_12(), cudaErrorInvalidDevice, "a_call_of_the_library_fails");
	ok_eq(cudaGetLastError(), cudaSuccess, "its_error_is_not_the_programs");
	ok_eq(last_error_12(), cudaErrorInvalidDevice, "it_is_the_librarys");
	return tap_exit();
}
