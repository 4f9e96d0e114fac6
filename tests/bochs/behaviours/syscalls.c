// SPDX-License-Identifier: Apache-2.0
/*
 * A backend of a worker that makes system calls as some driver may: softgpu, but
 * for two functions, which make them without a C library that could stand in for them:
 * 1,000 of getppid() and of sched_yield(), and one that only a kernel can answer.
 */
#include <cuda.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS	1000

/* With no arguments, or with 0. */
static long raw(long nr)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(0L)
			 : "rcx", "r11", "memory");
	return ret;
}

static unsigned int ticks_each(unsigned long long since)
{
	return (unsigned int)((__builtin_ia32_rdtsc() - since) / CALLS);
}

/*
 * *least: how many answers were right; *greatest: TSC ticks, i.e. instructions, of a
 * getppid() times 65,536, and of a sched_yield().
 */
__attribute__((visibility("default")))
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	static long parent;
	unsigned long long start;
	int i, right = 0;

	if (!parent)
		parent = getppid();
	start = __builtin_ia32_rdtsc();
	for (i = 0; i < CALLS; i++)
		right += raw(SYS_getppid) == parent;
	*greatest = (int)(ticks_each(start) << 16);
	start = __builtin_ia32_rdtsc();
	for (i = 0; i < CALLS; i++)
		right += raw(SYS_sched_yield) == 0;
	*greatest |= (int)ticks_each(start);
	*least = right;
	return CUDA_SUCCESS;
}

/* One that only a kernel can answer. */
__attribute__((visibility("default")))
CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	(void)ctx;
	*version = raw(SYS_getpgid) == getpgid(0);
	return CUDA_SUCCESS;
}
