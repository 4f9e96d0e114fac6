// SPDX-License-Identifier: Apache-2.0
/*
 * Copies pageable memory from and to staging buffers. One CPU copies about 11 GB/s, while the
 * bus takes five times that. So if there are plenty of CPUs, one or two helper threads share a
 * large copy: they take chunks from one counter, and a late helper finds less to do. There is
 * one copy at a time, since the caller holds the staging lock.
 */
#define _GNU_SOURCE
#include "stubs.h"
#include "shm_wait.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK		(64UL << 10)
#define SHARED_FROM	(256UL << 10)	/* below this, a helper's wake-up is not worth it */
#define MAX_HELPERS	2
#ifndef CPUS_FOR_EACH
#define CPUS_FOR_EACH	4		/* one helper for so many CPUs that the process may use */
#endif
/* Below this, a copy is over before a sleeping helper is awake. */
#define WAKE_FROM	(1UL << 20)
/* A helper polls for so long, since a wake-up costs as much. */
#define IDLE_NS		60000

/*
 * `inside` counts helpers that have looked at `open` and may be copying. Both are sequentially
 * consistent, so a caller that closes the job and then sees nobody inside may change the job.
 */
static struct {
	uint8_t *dst;
	const uint8_t *src;
	size_t size, next;
	uint32_t open, inside;
	uint32_t jobs;		/* futex word: jobs so far */
	uint32_t sleepers;
} job WH_PAIR;
static int helpers WH_PAIR;
static bool started WH_PAIR;

static void take_chunks(void)
{
	size_t at, n;

	for (;;) {
		at = __atomic_fetch_add(&job.next, CHUNK, __ATOMIC_RELAXED);
		if (at >= job.size)
			return;
		n = job.size - at < CHUNK ? job.size - at : CHUNK;
		memcpy(job.dst + at, job.src + at, n);
	}
}

/*
 * Copies come at once, as the parts of a large one, or a program's step later. A helper that
 * polls for longer than the last wait took would waste a tenant's CPU in each step.
 */
static void await_job(struct wh_shm_spin *spin, uint32_t seen, bool look)
{
	if (look && wh_shm_spin(spin, &job.jobs, seen, false, IDLE_NS))
		return;
	__atomic_fetch_add(&job.sleepers, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&job.jobs, __ATOMIC_SEQ_CST) == seen)
		syscall(SYS_futex, &job.jobs, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	__atomic_fetch_sub(&job.sleepers, 1, __ATOMIC_SEQ_CST);
}

static void *help(void *arg)
{
	struct wh_shm_spin spin = { 0 };
	bool soon = true;	/* the last copy came soon after the one before */
	uint64_t since;
	uint32_t seen;

	(void)arg;
	for (;;) {
		seen = __atomic_load_n(&job.jobs, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&job.inside, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&job.open, __ATOMIC_SEQ_CST))
			take_chunks();
		__atomic_fetch_sub(&job.inside, 1, __ATOMIC_SEQ_CST);
		since = wh_shm_now();
		await_job(&spin, seen, soon);
		soon = wh_shm_now() - since < 2 * IDLE_NS;
	}
	return NULL;
}

static int cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

/*
 * Helpers block all signals, since the program's signals are for its own threads. Signals for a
 * fault in the program's memory are the program's, too.
 */
static void start_helpers(void)
{
	int want = cpus() / CPUS_FOR_EACH;
	sigset_t all, old;
	pthread_t t;

	started = true;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (want = want < MAX_HELPERS ? want : MAX_HELPERS; want; want--) {
		if (pthread_create(&t, NULL, help, NULL))
			break;
		pthread_detach(t);
		helpers++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* After this, no helper touches the job until it is opened again. */
static void close_job(void)
{
	__atomic_store_n(&job.open, 0, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&job.inside, __ATOMIC_SEQ_CST))
		__builtin_ia32_pause();
}

void wh_bulk_copy(void *dst, const void *src, size_t n, size_t whole)
{
	if (whole >= WAKE_FROM && !started)
		start_helpers();
	if (n < SHARED_FROM || !helpers) {
		memcpy(dst, src, n);
		return;
	}
	close_job();		/* the job is still open if siglongjmp() left it */
	job.dst = dst;
	job.src = src;
	job.size = n;
	job.next = 0;
	__atomic_store_n(&job.open, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&job.jobs, 1, __ATOMIC_SEQ_CST);
	if (whole >= WAKE_FROM && __atomic_load_n(&job.sleepers, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &job.jobs, FUTEX_WAKE_PRIVATE, MAX_HELPERS, NULL, NULL, 0);
	take_chunks();
	close_job();
}
