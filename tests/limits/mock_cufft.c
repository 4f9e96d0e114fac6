// SPDX-License-Identifier: Apache-2.0
/*
 * A cuFFT of which only the memory counts. A plan of n elements takes n MiB from the
 * driver that the worker has, without using the handlers, as the genuine cuFFT does.
 */
#include <cuda.h>
#include <cufft.h>
#include <dlfcn.h>
#include <stdbool.h>

#define PLANS	4
#define TENTH	10u

static struct {
	bool used;
	CUdeviceptr area, of_use;	/* only question TENTH makes of_use */
	unsigned int asked;
} plan[PLANS + 1];

/* cuda.h changes the name to that of today's function. */
#define NAME_(f)	#f
#define NAME(f)		NAME_(f)
#define DRIVER(f)	((__typeof__(&f))dlsym(dlopen("libcuda.so.1", RTLD_NOW), NAME(f)))

cufftResult cufftCreate(cufftHandle *p)
{
	for (*p = 1; *p <= PLANS && plan[*p].used; ++*p)
		;
	if (*p > PLANS)
		return CUFFT_ALLOC_FAILED;
	plan[*p].used = true;
	return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle p)
{
	if (plan[p].area)
		DRIVER(cuMemFree)(plan[p].area);
	if (plan[p].of_use)
		DRIVER(cuMemFree)(plan[p].of_use);
	plan[p].area = plan[p].of_use = 0;
	plan[p].asked = 0;
	plan[p].used = false;
	return CUFFT_SUCCESS;
}

cufftResult cufftMakePlan1d(cufftHandle p, int n, cufftType type, int batch, size_t *size)
{
	(void)type, (void)batch;
	if (plan[p].area)
		return CUFFT_INVALID_PLAN;
	*size = (size_t)n << 20;
	return DRIVER(cuMemAlloc)(&plan[p].area, *size) ? CUFFT_ALLOC_FAILED : CUFFT_SUCCESS;
}

cufftResult cufftGetSize(cufftHandle p, size_t *size)
{
	*size = 0;
	if (++plan[p].asked != TENTH)
		return CUFFT_SUCCESS;
	return DRIVER(cuMemAlloc)(&plan[p].of_use, 30ull << 20) ? CUFFT_ALLOC_FAILED :
								  CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle p, cudaStream_t stream)
{
	(void)p, (void)stream;
	return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle p, int on)
{
	(void)p, (void)on;
	return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle p, void *area)
{
	(void)p, (void)area;
	return CUFFT_SUCCESS;
}
