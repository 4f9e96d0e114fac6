// SPDX-License-Identifier: Apache-2.0
/*
 * A worker's backend that makes system calls as some driver may. It is softgpu, but for a
 * few functions, which make them without a C library that could stand in for them: 1,000
 * of getppid() and of sched_yield(), as many of clocks and futexes, one that only a
 * kernel can answer, and those that the slot's companion makes. Another function returns
 * only when other calls are inside it as well; one more then allocates beside them.
 */
#include <cuda.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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

/* Makes a system call with no arguments, or with arguments of 0. */
static long raw(long nr)
{
	return raw3(nr, 0, 0, 0);
}

static unsigned int ticks_each(unsigned long long since)
{
	return (unsigned int)((__builtin_ia32_rdtsc() - since) / CALLS);
}

/*
 * *least receives how many answers were right. *greatest receives the TSC ticks (which
 * are instructions) of a getppid() times 65,536, plus those of a sched_yield().
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

static unsigned int clock_ticks, futex_ticks;	/* of the shortest one */

static void keep_least(unsigned int *least, unsigned long long since)
{
	unsigned int ticks = (unsigned int)(__builtin_ia32_rdtsc() - since);

	if (!*least || ticks < *least)
		*least = ticks;
}

/*
 * Checks that the clock goes on, and that it agrees with the C library's clock, which
 * reads it by the vDSO.
 */
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

/* Waits for a futex whose word differs from the expected value. */
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

/* *config receives how many answers were right. */
__attribute__((visibility("default")))
CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
	*config = (CUfunc_cache)(clocks() + futexes());
	return CUDA_SUCCESS;
}

/*
 * *config receives the TSC ticks (which are instructions) of a clock times 65,536, plus
 * those of a futex.
 */
__attribute__((visibility("default")))
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	*config = (CUsharedconfig)(clock_ticks << 16 | futex_ticks);
	return CUDA_SUCCESS;
}

/* Makes a system call that only a kernel can answer. */
__attribute__((visibility("default")))
CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	(void)ctx;
	*version = raw(SYS_getpgid) == getpgid(0);
	return CUDA_SUCCESS;
}

static int ends[2];	/* a pipe with PENDING bytes */

#define PENDING	7

static int open_pipe(void)
{
	return ends[1] || (!pipe(ends) && write(ends[1], "pending", PENDING) == PENDING);
}

/*
 * Makes some system calls of each kind that the companion makes, without a C library, and
 * leaves the pipe as it was.
 */
static int mixed(void)
{
	char text[16] = "";
	long page, right = 0;

	page = raw3(SYS_brk, 0, 0, 0);
	right += page > 0;
	right += raw3(SYS_write, ends[1], (long)"more", 4) == 4;
	right += raw3(SYS_read, ends[0], (long)text, sizeof(text)) == PENDING + 4 &&
		 !memcmp(text, "pendingmore", PENDING + 4);
	right += raw3(SYS_write, ends[1], (long)text, PENDING) == PENDING;
	right += raw3(SYS_write, -1, (long)text, 1) == -EBADF;
	right += raw3(SYS_write, ends[1], 16, 1) == -EFAULT;
	return right == 6;
}

static int waking;
static long long late_us;

static long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/*
 * @kind says which system calls to make: 0 one small ioctl, 1 some of each kind, 2 a
 * FUTEX_WAKE. *value receives how many bytes the pipe has, or 1 if all is right. For the
 * calls below that sleep, 3 returns the time in ms, and 4 how late the last one went on,
 * in us. For benches, one of each way (bench/stages.c): 5 makes none, 6 one that the
 * service answers, 7 one that only a kernel can answer.
 */
__attribute__((visibility("default")))
CUresult cuCtxGetLimit(size_t *value, CUlimit kind)
{
	int n = 0;

	*value = 0;
	if (!open_pipe())
		return CUDA_SUCCESS;
	switch ((int)kind) {
	case 0:
		*value = raw3(SYS_ioctl, ends[0], FIONREAD, (long)&n) ? 0 : (size_t)n;
		break;
	case 1:
		*value = (size_t)mixed();
		break;
	case 3:
		*value = (size_t)(now_us() / 1000);
		break;
	case 4:
		*value = (size_t)late_us;
		break;
	case 5:
		*value = 1;
		break;
	case 6:
		*value = raw(SYS_getppid) > 0;
		break;
	case 7:
		*value = raw(SYS_getpgid) >= 0;
		break;
	default:
		*value = !raw3(SYS_futex, (long)&waking, FUTEX_WAKE_PRIVATE, 1);
	}
	return CUDA_SUCCESS;
}

/*
 * Sleeps until that time of the server's clock, in ms, which only a kernel can do. Fails
 * if the time was over before.
 */
__attribute__((visibility("default")))
CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned int until, size_t n, CUstream stream)
{
	struct timespec time = { until / 1000, until % 1000 * 1000000L };

	(void)dst, (void)n, (void)stream;
	if (now_us() >= until * 1000LL)
		return CUDA_ERROR_NOT_READY;
	if (raw3(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, (long)&time))
		return CUDA_ERROR_UNKNOWN;
	late_us = now_us() - until * 1000LL;
	return CUDA_SUCCESS;
}

#define MEETING_TICKS	1000000000ull	/* 10 s of the emulated machine */

/* Returns when `threads` calls are in here at the same time, or fails after a while. */
static CUresult meet(unsigned int *here, unsigned int threads)
{
	unsigned int before = __atomic_fetch_add(here, 1, __ATOMIC_SEQ_CST);
	unsigned int all = before - before % threads + threads;
	unsigned long long start = __builtin_ia32_rdtsc();

	while (__atomic_load_n(here, __ATOMIC_SEQ_CST) < all) {
		if (__builtin_ia32_rdtsc() - start > MEETING_TICKS)
			return CUDA_ERROR_LAUNCH_TIMEOUT;
		__builtin_ia32_pause();
	}
	return CUDA_SUCCESS;
}

__attribute__((visibility("default")))
CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short threads, size_t n, CUstream stream)
{
	static unsigned int here;

	(void)dst, (void)n, (void)stream;
	return meet(&here, threads);
}

#define ALLOCATIONS	1000
#define BYTES		3000	/* more than a thread keeps for itself: each enters the arena */

/* Allocates, lets the memory grow, and frees it. */
static int allocate(void)
{
	char *p = malloc(BYTES), *more;
	int good;

	if (!p)
		return 0;
	memset(p, 42, BYTES);
	more = realloc(p, 2UL * BYTES);
	good = more && more[0] == 42 && more[BYTES - 1] == 42;
	free(more ? more : p);
	return good;
}

/* Allocates while as many calls do the same. */
__attribute__((visibility("default")))
CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char threads, size_t n, CUstream stream)
{
	static unsigned int here, done;
	CUresult res = meet(&here, threads);
	int i;

	(void)dst, (void)n, (void)stream;
	for (i = 0; i < ALLOCATIONS && res == CUDA_SUCCESS; i++)
		if (!allocate())
			res = CUDA_ERROR_OUT_OF_MEMORY;
	return res == CUDA_SUCCESS ? meet(&done, threads) : res;
}
