// SPDX-License-Identifier: Apache-2.0
/*
 * Exchanges pages of the calling thread's own stack. No code of it may run between the copy of a
 * page and the exchange, not even the return from a function. So the thread waits in one piece of
 * assembly, and the helper makes sure that it is in the kernel: it moves the waiter from one futex
 * to another, which works only if it waits.
 */
#define _GNU_SOURCE
#include "stack.h"

#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client.h"

#define BELOW	(64 * 1024UL)	/* the deepest that calls go from here */
#define ABOVE	WH_PAGE_SIZE	/* the frame here, and its arguments */
#define STATIC	(4 * 4096UL)	/* thread-local data of libraries, below the thread's descriptor */
#define HELPER	(256 * 1024UL)	/* stack of the helper, beside thread-local data */

static struct {
	bool (*fn)(void *arg);
	void *arg;
	bool result;
	uint32_t first, second;	/* futexes; the first is 1 when all is done */
} aside WH_PAIR;

static bool meets(const void *low, size_t size, uintptr_t from, uintptr_t to)
{
	uintptr_t p = (uintptr_t)low;

	return p < to && p + size > from;
}

static bool has_own_data(const void *low, size_t size)
{
	uintptr_t own = (uintptr_t)__builtin_thread_pointer();

	return meets(low, size, own - STATIC, own + WH_PAGE_SIZE);
}

bool wh_stack_is_a_threads(const void *low, size_t size)
{
	uintptr_t own = (uintptr_t)__builtin_thread_pointer();

	return meets(low, size, own, own + WH_PAGE_SIZE);
}

bool wh_stack_uses(const void *low, size_t size)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return meets(low, size, here - BELOW, here + ABOVE) || has_own_data(low, size);
}

/* A thread's own data lies above its stack; the first thread's lies elsewhere. */
bool wh_stack_has(const void *low, size_t size)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t own = (uintptr_t)__builtin_thread_pointer();

	return wh_stack_uses(low, size) || (own > here && meets(low, size, here, own)) ||
	       (wh_stack_is_first(low) && (uintptr_t)low > here - BELOW && own < here);
}

bool wh_stack_is_first(const void *low)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return getpid() == (pid_t)syscall(SYS_gettid) &&
	       (uintptr_t)low >= (here & -(uintptr_t)WH_PAGE_SIZE);
}

/* The kernel makes only a mapping of its own longer, and pages in its place would end it. */
__attribute__((noinline)) void wh_stack_grow(void)
{
	char room[3 * WH_PAGE_SIZE];

	*(volatile char *)room = 0;
	__asm__ volatile("" : : "r" (room) : "memory");
}

static long futex(uint32_t *word, int op, uint32_t value, unsigned long value2, uint32_t *word2)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, value2, word2, 0);
}

/*
 * The C library takes the program's thread-local data out of a thread's stack. The objects of
 * another namespace (dlmopen) are not seen here: theirs may need the default size.
 */
static int add_local_data(struct dl_phdr_info *object, size_t size, void *sum)
{
	int i;

	(void)size;
	for (i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)sum += object->dlpi_phdr[i].p_memsz +
					  object->dlpi_phdr[i].p_align;
	return 0;
}

static void *help(void *arg)
{
	/* It wakes nobody and moves one waiter: 1 says that there is one. */
	while (futex(&aside.first, FUTEX_CMP_REQUEUE, 0, 1, &aside.second) < 1)
		sched_yield();
	aside.result = aside.fn(aside.arg);
	__atomic_store_n(&aside.first, 1, __ATOMIC_SEQ_CST);
	futex(&aside.second, FUTEX_WAKE, INT_MAX, 0, NULL);
	/* One that was stopped and goes on waits for the first one again. */
	futex(&aside.first, FUTEX_WAKE, INT_MAX, 0, NULL);
	return arg;
}

/* Waits until the first futex is not 0. It writes to no memory. */
static void wait_in_kernel(void)
{
	register long no_timeout __asm__("r10") = 0;

	__asm__ volatile("1: mov %[call], %%eax\n"
			 "   syscall\n"
			 "   cmpl $0, (%%rdi)\n"
			 "   je 1b"
			 :
			 : [call] "i" (SYS_futex), "D" (&aside.first),
			   "S" (FUTEX_WAIT | FUTEX_PRIVATE_FLAG), "d" (0), "r" (no_timeout)
			 : "rax", "rcx", "r11", "memory", "cc");
}

bool wh_stack_aside(bool (*fn)(void *arg), void *arg)
{
	const uint64_t all = UINT64_MAX;	/* also the C library's own signals */
	size_t stack = HELPER;
	uint64_t before;
	pthread_attr_t attr;
	pthread_t helper;
	bool started;

	aside.fn = fn;
	aside.arg = arg;
	aside.result = false;
	aside.first = 0;
	if (pthread_attr_init(&attr))
		return false;
	dl_iterate_phdr(add_local_data, &stack);
	pthread_attr_setstacksize(&attr, stack);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	started = !pthread_create(&helper, &attr, help, NULL) ||
		  !pthread_create(&helper, NULL, help, NULL);
	if (started)
		wait_in_kernel();
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	if (started)
		pthread_join(helper, NULL);
	pthread_attr_destroy(&attr);
	return started && aside.result;
}
