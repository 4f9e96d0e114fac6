// SPDX-License-Identifier: Apache-2.0
/*
 * Tells a profiler (the client's libcupti.so.13) which API calls the program makes, and gives each
 * request the number of the call that it is of. While nobody profiles, nothing here runs: a flag
 * beside the state of the connection keeps calls off the fast path (quick.h).
 */
#include "stubs.h"

#define RUNTIMES	4	/* libcudart.so.13, .12 and .11.0, and one to spare */

static const struct wh_profiler *profiler WH_PAIR;
static pthread_mutex_t lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
/* A fork's child has the same libraries. */
static void (*runtime[RUNTIMES])(bool on);
static unsigned int runtimes;

static const struct wh_profiler *watching(void)
{
	return __atomic_load_n(&profiler, __ATOMIC_ACQUIRE);
}

void wh_profile(const struct wh_profiler *p)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	if (!p != !profiler)
		wh_first_only_by(p ? WH_PROFILED : -WH_PROFILED);
	__atomic_store_n(&profiler, p, __ATOMIC_RELEASE);
	for (i = 0; i < runtimes; i++)
		runtime[i](p);
	pthread_mutex_unlock(&lock);
}

void wh_profile_runtime(void (*watch)(bool on))
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < runtimes && runtime[i] != watch; i++)
		;
	if (i < RUNTIMES) {
		runtime[i] = watch;
		runtimes = i < runtimes ? runtimes : i + 1;
		watch(profiler);
	}
	pthread_mutex_unlock(&lock);
}

static uint32_t begin(const char *name, uint32_t call)
{
	const struct wh_profiler *p = watching();
	struct wh_thread *t = &wh_thread;
	uint32_t before = t->number;

	/* A call inside of one of another API is part of that. */
	if (p && !before)
		t->number = p->begin(name, call);
	return before;
}

uint32_t wh_profile_begin(const char *name)
{
	return begin(name, 0);
}

uint32_t wh_profile_begin_call(uint32_t call)
{
	return begin(NULL, call);
}

void wh_profile_end(uint32_t before, int result)
{
	const struct wh_profiler *p = watching();
	struct wh_thread *t = &wh_thread;

	if (p && !before && t->number)
		p->end(t->number, result);
	t->number = before;
}

void wh_profile_request(struct wh_req *q, uint32_t handler)
{
	uint32_t call = q->call & ~WH_EDITION_MASK, library = call >> WH_LIBRARY_SHIFT;
	const struct wh_profiler *p = watching();
	struct wh_thread *t = &wh_thread;

	/* The profiler's own calls and NVML's are no work of the device. */
	if (!p || handler == WH_HANDLER_LONG || library == WH_LIB_nvml || library == p->library)
		return;
	if (!t->number) {
		t->number = p->begin(NULL, call);
		t->request = t->number;
	}
	p->sent(t->number, call);
	q->number = t->number | (library ? p->of_library : 0);
}

void wh_profile_ended(void)
{
	const struct wh_profiler *p = watching();
	struct wh_thread *t = &wh_thread;

	if (p)
		p->end(t->request, 0);
	t->number = t->request = 0;
}
