// SPDX-License-Identifier: Apache-2.0
/*
 * The start of the library, and the way in and out of every exported call: the one lock,
 * the check that the library is usable in this process, and the check of the current
 * context. In a child that was forked after cuInit() every call returns
 * CUDA_ERROR_NOT_INITIALIZED. It does so without the lock, which another thread may have
 * held at the fork.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "queue.h"
#include "watch.h"

enum { COLD, READY, FORKED };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int state = COLD;
static uint64_t last_id;
static CUresult sticky;
static __thread bool in_callback __attribute__((tls_model("initial-exec")));

uint64_t sgpu_new_id(void)
{
	return ++last_id;
}

bool sgpu_env_flag(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0");
}

static void say(const char *fmt, va_list ap)
{
	fputs("softgpu: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

/* Prints nothing unless WORMHOLE_LOG is set. Must not be called on a path that has to be fast. */
void sgpu_log(const char *fmt, ...)
{
	va_list ap;

	if (!sgpu_env_flag("WORMHOLE_LOG"))
		return;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

/* Reports a wrong setting. Only this line tells the user why there is no device. */
void sgpu_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

int sgpu_unsupported(const char *name)
{
	sgpu_log("%s is not supported", name);
	return CUDA_ERROR_NOT_SUPPORTED;
}

/*
 * With WORMHOLE_SOFTGPU_PREFAULT a call must make no system call. A thread that finds the
 * lock taken therefore polls until it is free. The number is large enough for a lock's
 * holder that was interrupted to get its next turn on the CPU. It is finite, because that
 * thread may have been stopped.
 */
#define LOOKS_AT_THE_LOCK	10000000u
static uint32_t looks;

/*
 * A thread that copies all the time holds the lock nearly always. If both threads share a
 * CPU, the one that polls finds the lock taken in each of its turns. After so many failed
 * attempts a thread goes before all threads that come later.
 */
#define LOOKS_IN_VAIN		10000u
static atomic_uint in_vain;	/* number of such threads */

static bool has_taken(bool first)
{
	return (first || !atomic_load_explicit(&in_vain, memory_order_relaxed)) &&
	       !pthread_mutex_trylock(&lock);
}

__attribute__((noinline)) static void await_lock(void)
{
	bool first = false, taken = false;
	uint32_t n;

	for (n = 0; n < looks && !taken; n++) {
		/* This is no system call in a worker, either: server/vm/interpose.c replaces it. */
		sched_yield();
		if (n == LOOKS_IN_VAIN) {
			atomic_fetch_add(&in_vain, 1);
			first = true;
		}
		taken = has_taken(first);
	}
	if (!taken)
		pthread_mutex_lock(&lock);
	if (first)
		atomic_fetch_sub(&in_vain, 1);
}

static void take_lock(void)
{
	if (!has_taken(false))
		await_lock();
}

static void forked(void)
{
	if (atomic_load(&state) != COLD)
		atomic_store(&state, FORKED);
}

static CUresult start(void)
{
	bool prefault = sgpu_env_flag("WORMHOLE_SOFTGPU_PREFAULT"), queued;
	uint32_t threads;
	CUresult rc = sgpu_devices_init();

	if (rc)
		return rc;
	if (!sgpu_threads_wanted(&threads) || !sgpu_queue_wanted(prefault, &queued))
		return CUDA_ERROR_INVALID_VALUE;
	if (!sgpu_books_enter())
		return CUDA_ERROR_INVALID_VALUE;
	rc = sgpu_mem_init(prefault);
	if (rc)
		return rc;
	looks = prefault ? LOOKS_AT_THE_LOCK : 0;
	sgpu_clock_init();
	sgpu_fatbin_init();
	sgpu_obj_prefault();
	pthread_atfork(NULL, NULL, forked);
	rc = sgpu_launch_init(threads);
	if (!rc && queued)
		rc = sgpu_queue_init();
	return rc ? rc : sgpu_checkpoint_init();
}

/*
 * NVIDIA's driver (580.159) names its threads by opening these files, and fails to start
 * where it cannot. softgpu opens the file for the same effect, but writes no name.
 */
static CUresult name_thread(void)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/comm", syscall(SYS_gettid));
	f = fopen(path, "wb");
	if (!f)
		return CUDA_ERROR_OPERATING_SYSTEM;
	fclose(f);
	return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags)
{
	CUresult rc = CUDA_SUCCESS;

	if (atomic_load(&state) == FORKED)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	if (atomic_load(&state) == COLD) {
		rc = name_thread();
		if (!rc)
			rc = start();
		if (!rc)
			atomic_store(&state, READY);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static CUresult go_in(void (*wait)(void))
{
	if (atomic_load_explicit(&state, memory_order_acquire) != READY)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (in_callback)
		return CUDA_ERROR_NOT_PERMITTED;
	take_lock();
	if (wait)
		wait();
	return CUDA_SUCCESS;
}

/* The device's thread is told behind the lock: it would wake up only to wait for that. */
CUresult sgpu_leave(CUresult rc)
{
	bool news = sgpu_queue_news();

	pthread_mutex_unlock(&lock);
	if (news)
		sgpu_queue_ring();
	return rc;
}

static CUresult go_in_healthy(void (*wait)(void))
{
	CUresult rc = go_in(wait);

	if (rc)
		return rc;
	return sticky ? sgpu_leave(sticky) : CUDA_SUCCESS;
}

static CUresult go_in_context(void (*wait)(void), struct sgpu_ctx **ctx)
{
	CUresult rc = go_in(wait);

	if (rc)
		return rc;
	rc = sgpu_ctx_current(ctx);
	if (!rc)
		rc = sticky;
	return rc ? sgpu_leave(rc) : CUDA_SUCCESS;
}

CUresult sgpu_beside_global(void)
{
	return go_in(NULL);
}

CUresult sgpu_beside_healthy(void)
{
	return go_in_healthy(NULL);
}

CUresult sgpu_beside(struct sgpu_ctx **ctx)
{
	return go_in_context(NULL, ctx);
}

CUresult sgpu_enter_global(void)
{
	return go_in(sgpu_queue_drain);
}

CUresult sgpu_enter_healthy(void)
{
	return go_in_healthy(sgpu_queue_drain);
}

CUresult sgpu_enter(struct sgpu_ctx **ctx)
{
	return go_in_context(sgpu_queue_drain, ctx);
}

CUresult sgpu_submit_healthy(void)
{
	return go_in_healthy(sgpu_queue_room);
}

CUresult sgpu_submit(struct sgpu_ctx **ctx)
{
	return go_in_context(sgpu_queue_room, ctx);
}

void sgpu_lock(void)
{
	take_lock();
}

void sgpu_unlock(void)
{
	sgpu_leave(CUDA_SUCCESS);
}

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void ring_if_news(void)
{
	if (sgpu_queue_news())
		sgpu_queue_ring();
}

void sgpu_sleep(pthread_cond_t *condition)
{
	ring_if_news();
	pthread_cond_wait(condition, &lock);
}

void sgpu_await_change(void)
{
	sgpu_sleep(&changed);
}

void sgpu_await_change_for(unsigned int us)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += us * 1000l;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	ring_if_news();
	pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until);
}

void sgpu_changed(void)
{
	pthread_cond_broadcast(&changed);
}

/* A device fault stays until the process ends, as cuda.h documents it. */
void sgpu_poison(CUresult rc)
{
	sticky = rc;
}

CUresult sgpu_health(void)
{
	return sticky;
}

/* Calls that have given the lock back for a while, for a function of the program. */
static unsigned int outside;

void sgpu_call_out(void (*fn)(void *arg), void *arg)
{
	in_callback = true;
	outside++;
	sgpu_unlock();
	fn(arg);
	take_lock();
	if (!--outside)
		sgpu_changed();
	in_callback = false;
}

/* Without a queue work has ended when nobody is inside a call. */
CUresult sgpu_stop(uint32_t timeout_ms)
{
	struct sgpu_drain d;
	struct timespec until;
	bool alone;
	int rc;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += timeout_ms % 1000 * 1000000l;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	rc = timeout_ms ? pthread_mutex_timedlock(&lock, &until) : pthread_mutex_lock(&lock);
	if (rc)
		return CUDA_ERROR_NOT_READY;
	sgpu_drain_begin(&d);
	while ((outside || !sgpu_drain_reached(&d)) && !rc)
		rc = timeout_ms ? pthread_cond_timedwait(&changed, &lock, &until) :
				  pthread_cond_wait(&changed, &lock);
	alone = !outside && sgpu_drain_reached(&d);
	sgpu_drain_end(&d);
	return alone ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_NOT_READY);
}

void sgpu_go_on(void)
{
	sgpu_unlock();
}

bool sgpu_is_ready(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == READY;
}

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = SGPU_CUDA_VERSION;
	return CUDA_SUCCESS;
}

/* NVIDIA's private tables are not part of the documented interface; softgpu has one of its own. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	const void *own = sgpu_watch_table(id);

	if (table)
		*table = own;
	return table && own ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuProfilerStart(void)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	return rc ? rc : sgpu_leave(CUDA_SUCCESS);
}

CUresult cuProfilerStop(void)
{
	return cuProfilerStart();
}
