// SPDX-License-Identifier: Apache-2.0
// The test promises that the error of a kernel that faults is sticky, in contrast to an error of
// the call. It needs nvcc and any CUDA device.
#include "common.h"

__global__ void write_to(int *p)
{
	*p = 1;
}

int main()
{
	void *p;

	tap_plan(6);
	NEED(cudaFree(0));
	write_to<<<1, 1>>>((int *)0x10);
	ok_err(cudaGetLastError(), cudaSuccess, "a_launch_succeeds_before_its_kernel_faults");
	ok_err(cudaDeviceSynchronize(), cudaErrorIllegalAddress,
	       "a_synchronisation_reports_the_fault");
	ok_err(cudaMalloc(&p, 64), cudaErrorIllegalAddress, "later_calls_report_the_fault");
	ok_err(cudaGetLastError(), cudaErrorIllegalAddress, "the_fault_is_the_last_error");
	ok_err(cudaPeekAtLastError(), cudaSuccess, "even_a_fault_is_cleared_from_the_last_error");
	ok_err(cudaDeviceSynchronize(), cudaErrorIllegalAddress, "the_fault_itself_stays");
	return tap_exit();
}
