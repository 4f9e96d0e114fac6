// SPDX-License-Identifier: Apache-2.0
/*
 * A worker's backend that is another version of the driver: softgpu, but for its version, and
 * for a thread that wakes once a second, as NVIDIA's driver has timers of a second. The thread
 * runs from cuInit() until its process ends.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#define VERSION	12080
#define STACK	(64 << 10)	/* a worker touches all of it */

static void *tick(void *none)
{
	const struct timespec second = { 1, 0 };

	for (;;)
		nanosleep(&second, NULL);
	return none;
}

static int start_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	rc = pthread_create(&thread, &attr, tick, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

__attribute__((visibility("default")))
CUresult cuInit(unsigned int flags)
{
	CUresult (*real)(unsigned int) = (CUresult (*)(unsigned int))dlsym(RTLD_NEXT, "cuInit");
	static int started;

	if (!started && start_thread())
		return CUDA_ERROR_OPERATING_SYSTEM;
	started = 1;
	return real(flags);
}

__attribute__((visibility("default")))
CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = VERSION;
	return CUDA_SUCCESS;
}
