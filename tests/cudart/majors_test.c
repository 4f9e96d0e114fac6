// SPDX-License-Identifier: Apache-2.0
// The test promises that a program of CUDA 13 may have libraries of CUDA 12 and 11: each has its
// own runtime and last error, and all work with the same memory and streams.
#include <cuda_runtime_api.h>

#include "../tap.h"
#include "majors.h"

#if CUDART_VERSION / 1000 != 13
#error "this file takes the headers of CUDA 13"
#endif

static void test_major(const struct major *m, int number)
{
	struct cudaDeviceProp p;
	cudaStream_t stream;
	int version = 0;
	void *memory;

	diag("a library of CUDA %d", number);
	ok_eq(m->version() / 1000, number, "the_library_has_a_runtime_of_its_major");
	ok(!cudaRuntimeGetVersion(&version) && version / 1000 == 13, "the_program_has_one_of_13");
	ok(!cudaGetDeviceProperties(&p, 0) && p.multiProcessorCount == m->processors(),
	   "each_gets_the_properties_in_its_own_struct");
	memory = m->memory(4096);
	stream = m->stream();
	ok(memory && stream && !cudaMemsetAsync(memory, 7, 4096, stream) &&
	   !cudaStreamSynchronize(stream) && m->first_byte(memory) == 7,
	   "memory_and_streams_of_one_serve_the_other");
	ok_eq(m->fail(), cudaErrorInvalidDevice, "a_call_of_the_library_fails");
	ok_eq(cudaGetLastError(), cudaSuccess, "its_error_is_not_the_programs");
	ok_eq(m->last_error(), cudaErrorInvalidDevice, "it_is_the_librarys");
}

int main(void)
{
	tap_plan(MAJORS * 7);
	test_major(&major_12, 12);
#if MAJORS > 1
	test_major(&major_11, 11);
#endif
	return tap_exit();
}
