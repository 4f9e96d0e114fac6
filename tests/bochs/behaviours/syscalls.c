// SPDX-License-Identifier: Apache-2.0
/*
 * A backend of a worker that makes system calls as some driver may: softgpu, but
 * for a few functions, which make them without a C library that could stand in for them:
 * 1,000 of getppid() and of sched_yield(), as many of clocks and futexes, and one that only
 * a kernel can answer.
 */
#include <cuda.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS	1000

static long raw3(long nr, long a, long b, long c)
{
	register long none __asm__("r10") = 0;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(none)
			 : "rcx", "r11", "memory");
	return ret;
}

/* With no arguments, or with 0. */
static long raw(long nr)
{
	return raw3(nr, 0, 0, 0);
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

static long long ns(const struct timespec *t)
{
	return t->tv_sec * 1000000000LL + t->tv_nsec;
}

static unsigned int clock_ticks, futex_ticks;	/* the shortest of them */

static void keep_least(unsigned int *least, unsigned long long since)
{
	unsigned int ticks = (unsigned int)(__builtin_ia32_rdtsc() - since);

	if (!*least || ticks < *least)
		*least = ticks;
}

/* The clock goes on, and is that of the C library, which reads it by the vDSO. */
static int clocks(void)
{
	struct timespec last, t, end;
	unsigned long long start;
	int i, right = 0;
	long ret;

	clock_gettime(CLOCK_MONOTONIC, &last);
	for (i = 0; i < CALLS; i++) {
		start = __builtin_ia32_rdtsc();
		ret = raw3(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t, 0);
		keep_least(&clock_ticks, start);
		right += !ret && ns(&t) >= ns(&last);
		last = t;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ns(&end) >= ns(&last) ? right : 0;
}

/* Of a word that differs. */
static int futexes(void)
{
	int i, word = 1, right = 0;
	unsigned long long start;
	long ret;

	for (i = 0; i < CALLS; i++) {
		start = __builtin_ia32_rdtsc();
		ret = raw3(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 2);
		keep_least(&futex_ticks, start);
		right += ret == -EAGAIN;
	}
	return right;
}

/* *config: how many answers were right. */
__attribute__((visibility("default")))
CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
	*config = (CUfunc_cache)(clocks() + futexes());
	return CUDA_SUCCESS;
}

/* TSC ticks, i.e. instructions, of a clock, times 65,536, and of a futex. */
__attribute__((visibility("default")))
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	*config = (CUsharedconfig)(clock_ticks << 16 | futex_ticks);
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
