// SPDX-License-Identifier: Apache-2.0
// A helper of preload_test.sh: it calls the runtime that it is linked with, of any version. It
// needs no header, because these functions are the same in all. As a library (LIBRARY) it
// returns the error of its first call.
#include <stddef.h>
#include <stdio.h>

int cudaMalloc(void **p, size_t size);
int cudaMemset(void *p, int value, size_t size);
int cudaMemcpy(void *to, const void *from, size_t size, int kind);
int cudaFree(void *p);

#define DEVICE_TO_HOST 2

#ifdef LIBRARY
int old_runtime_error(void)
{
	void *p = NULL;

	return cudaMalloc(&p, 64);
}
#else
int main(void)
{
	unsigned char first = 0;
	void *p = NULL;
	int err[4];

	err[0] = cudaMalloc(&p, 64);
	err[1] = cudaMemset(p, 7, 64);
	err[2] = cudaMemcpy(&first, p, 1, DEVICE_TO_HOST);
	err[3] = cudaFree(p);
	printf("errors %d %d %d %d value %d\n", err[0], err[1], err[2], err[3], first);
	return 0;
}
#endif
