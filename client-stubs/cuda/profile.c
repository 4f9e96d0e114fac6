// SPDX-License-Identifier: Apache-2.0
/*
 * Tells the client's libcupti.so.13 which API calls the program makes (a watcher), and gives each
 * request the number of the call that it is of (a profiler). While nobody watches, nothing here
 * runs: an export looks at one flag (gen_watched.c). While nobody profiles, a flag beside the state
 * of the connection keeps calls off the slow path (quick.h).
 */
#include "stubs.h"

#define RUNTIMES	4	/* libcudart.so.13, .12 and .11.0, and one to spare */

bool wh_watched WH_PAIR;
static const struct wh_watcher *watcher WH_PAIR;
static const struct wh_profiler *profiler WH_PAIR;
static pthread_mutex_t lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
/* A fork's child has the same libraries. */
static void (*runtime[RUNTIMES])(bool on);
static unsigned int runtimes;

/* --- Calls of the program ------------------------------------------------------------- */

void wh_watch(const struct wh_watcher *w)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	__atomic_store_n(&watcher, w, __ATOMIC_RELEASE);
	__atomic_store_n(&wh_watched, w != NULL, __ATOMIC_RELEASE);
	for (i = 0; i < runtimes; i++)
		runtime[i](w);
	pthread_mutex_unlock(&lock);
}

void wh_watch_runtime(void (*watch)(bool on))
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < runtimes && runtime[i] != watch; i++)
		;
	if (i < RUNTIMES) {
		runtime[i] = watch;
		runtimes = i < runtimes ? runtimes : i + 1;
		watch(watcher);
	}
	pthread_mutex_unlock(&lock);
}

void wh_api_begin(struct wh_api_call *c)
{
	struct wh_thread *t = &wh_thread;

	c->outer = c->number = t->number;
	c->watcher = __atomic_load_n(&watcher, __ATOMIC_ACQUIRE);
	if (c->watcher)
		c->watcher->begin(c);
	t->number = c->number;
}

void wh_api_end(struct wh_api_call *c)
{
	wh_thread.number = c->outer;
	if (c->watcher)
		c->watcher->end(c);
}

/* --- Requests ------------------------------------------------------------------------- */

static const struct wh_profiler *profiling(void)
{
	return __atomic_load_n(&profiler, __ATOMIC_ACQUIRE);
}

void wh_profile(const struct wh_profiler *p)
{
	pthread_mutex_lock(&lock);
	if (!p != !profiler)
		wh_first_only_by(p ? WH_PROFILED : -WH_PROFILED);
	__atomic_store_n(&profiler, p, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

uint32_t wh_profile_begin_call(uint32_t call)
{
	const struct wh_profiler *p = profiling();
	struct wh_thread *t = &wh_thread;
	uint32_t before = t->number;

	if (p && !before)
		t->number = p->begin(call);
	return before;
}

void wh_profile_end(uint32_t before, int result)
{
	const struct wh_profiler *p = profiling();
	struct wh_thread *t = &wh_thread;

	if (p && !before && t->number)
		p->end(t->number, result);
	t->number = before;
}

void wh_profile_request(struct wh_req *q, uint32_t handler)
{
	uint32_t call = q->call & ~WH_EDITION_MASK, library = call >> WH_LIBRARY_SHIFT;
	const struct wh_profiler *p = profiling();
	struct wh_thread *t = &wh_thread;

	/* The profiler's own calls and NVML's are no work of the device. */
	if (!p || handler == WH_HANDLER_LONG || library == WH_LIB_nvml || library == p->library)
		return;
	/* A library's stub sends it: no function of the driver or the runtime was called. */
	if (!t->number) {
		t->number = p->begin(call);
		t->request = t->number;
	}
	p->sent(t->number, call);
	q->number = t->number | (library ? p->of_library : 0);
}

void wh_profile_ended(void)
{
	const struct wh_profiler *p = profiling();
	struct wh_thread *t = &wh_thread;

	if (p)
		p->end(t->request, 0);
	t->number = t->request = 0;
}
