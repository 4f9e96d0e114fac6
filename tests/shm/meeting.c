// SPDX-License-Identifier: Apache-2.0
/*
 * softgpu with functions that show which calls run at the same time: some wait until
 * another call is there, some take their time. An argument that has no other meaning
 * chooses what they do (meeting.h).
 */
#define _GNU_SOURCE
#include "meeting.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define SLOW_US	20000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static CUstream held;
static int holds, let_go;
static int here, met, slow, copying, made, freed_meanwhile;

/* Waits, with the lock held. Returns false if the time is over. */
static bool until(const int *word, int at_least)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += MEETING_S;
	while (*word < at_least)
		if (pthread_cond_timedwait(&changed, &lock, &end))
			return *word >= at_least;
	return true;
}

static CUresult meet(void)
{
	bool good;
	int pair;

	pthread_mutex_lock(&lock);
	pair = here++ / 2;
	if (here % 2 == 0)
		met++;
	pthread_cond_broadcast(&changed);
	good = until(&met, pair + 1);
	pthread_mutex_unlock(&lock);
	return good ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_TIMEOUT;
}

static CUresult take_time(void)
{
	usleep(SLOW_US);
	__atomic_fetch_add(&slow, 1, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

/* Have @number slow calls been here? */
static CUresult after(size_t number)
{
	return __atomic_load_n(&slow, __ATOMIC_ACQUIRE) >= (int)number ? CUDA_SUCCESS :
									  CUDA_ERROR_LAUNCH_FAILED;
}

static CUresult hold(CUstream stream, bool begin)
{
	pthread_mutex_lock(&lock);
	held = stream;
	holds += begin;
	let_go += !begin;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream)
{
	typeof(cuStreamQuery) *real = dlsym(RTLD_NEXT, __func__);
	bool busy;

	pthread_mutex_lock(&lock);
	busy = stream == held && let_go < holds;
	pthread_mutex_unlock(&lock);
	return busy ? CUDA_ERROR_NOT_READY : real(stream);
}

CUresult cuCtxSynchronize(void)
{
	typeof(cuCtxSynchronize) *real = dlsym(RTLD_NEXT, __func__);
	bool good;

	pthread_mutex_lock(&lock);
	good = until(&let_go, holds);
	pthread_mutex_unlock(&lock);
	return good ? real() : CUDA_ERROR_LAUNCH_TIMEOUT;
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
{
	typeof(cuMemsetD8Async) *real = dlsym(RTLD_NEXT, __func__);

	switch (value) {
	case MEET:
		return meet();
	case SLOW:
		return take_time();
	case HOLD:
	case LET_GO:
		return hold(stream, value == HOLD);
	case AFTER:
		return after(n);
	}
	return real(dst, value, n, stream);
}

/* The number of blocks has the same meaning as the values of cuMemsetD8Async(). */
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	typeof(cuLaunchKernelEx) *real = dlsym(RTLD_NEXT, __func__);

	return config->gridDimX == MEET ? meet() : real(config, f, params, extra);
}

/* Behaves like a copy that waits for the device. */
CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	typeof(cuMemcpyDtoD_v2) *real = dlsym(RTLD_NEXT, __func__);
	bool good;

	if (n != LONG_COPY)
		return real(dst, src, n);
	pthread_mutex_lock(&lock);
	copying++;
	pthread_cond_broadcast(&changed);
	good = until(&made, 1);
	if (good)
		usleep(SLOW_US);	/* time for a call that should wait, and does not */
	made = 0;
	copying--;
	good = good && !freed_meanwhile;
	freed_meanwhile = 0;
	pthread_mutex_unlock(&lock);
	return good ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_TIMEOUT;
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	typeof(cuMemAlloc_v2) *real = dlsym(RTLD_NEXT, __func__);

	if (n != MEANWHILE)
		return real(p, n);
	pthread_mutex_lock(&lock);
	made = copying;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return made ? real(p, n) : CUDA_ERROR_NOT_FOUND;
}

/* The long copy sleeps with the lock, so this looks at its word without the lock. */
CUresult cuMemFree_v2(CUdeviceptr p)
{
	typeof(cuMemFree_v2) *real = dlsym(RTLD_NEXT, __func__);

	if (__atomic_load_n(&copying, __ATOMIC_ACQUIRE))
		__atomic_store_n(&freed_meanwhile, 1, __ATOMIC_RELEASE);
	return real(p);
}
