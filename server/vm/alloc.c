// SPDX-License-Identifier: Apache-2.0
/*
 * Owns malloc() and its family for the worker and its backend. The C library's one arena
 * (memory.c) has one lock, and a thread that finds it taken sleeps by a system call, which on a
 * slot's thread is a handoff. The holder then makes another one, to wake it. So whoever enters the
 * arena holds the lock below first. A slot's thread looks for it until it is free. All others nap
 * between their looks. Nobody waits to be woken, so giving the lock back is never a system call.
 *
 * The thread that holds the lock may stand still, as it may with softgpu's lock
 * (softgpu/driver/driver.c):
 *
 * - A client's kernel takes the CPU away in the middle of a call. A slot's thread that looks keeps
 *   its CPU until the client's kernel lets the other thread run.
 * - The call was handed off, or the thread is one of the driver's. It then shares the server's
 *   vCPU with others, and a slot's thread looks for some of their time slices.
 * - The client's thread is stopped for good, or has left its call by siglongjmp(). After
 *   LOOKS_OF_A_SLOT the others nap as well: each nap is a handoff, but their CPUs are free.
 *
 * A thread of the driver that ends gives its cache to the arena without this lock, because the C
 * library does so by no symbol. A slot's thread that allocates in that moment may be handed off.
 *
 * The calling thread may enter again, from a signal handler or from another handler of fork().
 * There the C library is as safe as without this file.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vm/interpose.h"
#include "vm/raw.h"

/* Far more than a thread that was interrupted takes to get its next turn on the CPU. */
#define LOOKS_OF_A_SLOT	10000000u
#define LOOKS_OF_OTHERS	200u	/* the holder may need this thread's CPU */
#define FIRST_NAP_NS	50000
#define LONGEST_NAP_NS	(100 * 1000 * 1000)

/* The C library's own functions, under the names that it exports for such files as this one. */
void *__libc_malloc(size_t size);
void __libc_free(void *p);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);

static uint32_t taken;
static __thread unsigned int depth;	/* how often this thread has entered */

static bool take(void)
{
	return !__atomic_load_n(&taken, __ATOMIC_RELAXED) &&
	       !__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE);
}

/* This makes the system call itself: malloc() is no cancellation point, and free() keeps errno. */
static void sleep_for(struct timespec *nap)
{
	raw(SYS_nanosleep, (uintptr_t)nap, 0, 0, 0);
	if (nap->tv_nsec < LONGEST_NAP_NS)
		nap->tv_nsec *= 2;
}

/*
 * A thread that looks finds the lock free in one of its turns, since nobody holds it for most of
 * the time. So nobody has to go first, unlike with softgpu's lock.
 */
__attribute__((noinline)) static void await_lock(void)
{
	uint32_t n, looks = wh_interpose_is_slot_thread() ? LOOKS_OF_A_SLOT : LOOKS_OF_OTHERS;
	struct timespec nap = { .tv_nsec = FIRST_NAP_NS };

	for (n = 0; n < looks; n++) {
		__builtin_ia32_pause();
		if (take())
			return;
	}
	while (!take())
		sleep_for(&nap);
}

/*
 * As long as the thread has the lock, it is inside: a signal handler would wait for it for ever.
 * The fences keep the compiler from changing that.
 */
static void enter(void)
{
	bool first = !depth++;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (first && !take())
		await_lock();
}

static void leave(void)
{
	if (depth == 1)
		__atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	depth--;
}

/* In the child of a fork the thread that forked goes on, and it has the lock. */
__attribute__((constructor)) static void keep_for_forks(void)
{
	if (pthread_atfork(enter, leave, leave))
		abort();
}

/* --- The functions that libraries find here first ------------------------------------ */

/* The value of a call that is made inside. */
#define INSIDE(call) ({								\
	void *got_;								\
										\
	enter();								\
	got_ = (call);								\
	leave();								\
	got_; })

void *malloc(size_t size)
{
	return INSIDE(__libc_malloc(size));
}

void free(void *p)
{
	if (!p)
		return;
	enter();
	__libc_free(p);
	leave();
}

/* Clears the memory when the lock is free again. In a worker all of the heap was used before. */
void *calloc(size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	p = INSIDE(__libc_malloc(bytes));
	return p ? memset(p, 0, bytes) : NULL;
}

/* The C library's reallocarray() calls this one. */
void *realloc(void *p, size_t size)
{
	return INSIDE(__libc_realloc(p, size));
}

void *memalign(size_t alignment, size_t size)
{
	return INSIDE(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
	void *got;

	if (!alignment || alignment % sizeof(void *) || (alignment & (alignment - 1)))
		return EINVAL;
	got = memalign(alignment, size);
	if (!got)
		return ENOMEM;
	*p = got;
	return 0;
}

void *valloc(size_t size)
{
	return INSIDE(__libc_valloc(size));
}

void *pvalloc(size_t size)
{
	return INSIDE(__libc_pvalloc(size));
}
