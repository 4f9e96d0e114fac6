// SPDX-License-Identifier: Apache-2.0
/* A library that is linked with libcuda.so.1 and calls it in its destructor. */
#include <cuda.h>
#include <stdio.h>

void ending_library(void)
{
}

__attribute__((destructor)) static void end(void)
{
	CUdeviceptr p;
	CUresult res = cuMemAlloc(&p, 64);

	printf("library %d\n", res ? res : cuMemFree(p));
	fflush(stdout);
}
