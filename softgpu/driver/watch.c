// SPDX-License-Identifier: Apache-2.0
/* Tells one watcher what the device has done. Owns the watcher and the private table. */
#include "watch.h"

#include <string.h>
#include <time.h>

void (*sgpu_watcher)(const struct sgpu_seen *s);

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

uint64_t sgpu_watch_begin(void)
{
	return __atomic_load_n(&sgpu_watcher, __ATOMIC_ACQUIRE) ? now() : 0;
}

void sgpu_watch_stop(struct sgpu_seen *s)
{
	if (s->start_ns)
		s->end_ns = now();
}

void sgpu_watch_tell(const struct sgpu_seen *s)
{
	void (*seen)(const struct sgpu_seen *s) = __atomic_load_n(&sgpu_watcher, __ATOMIC_ACQUIRE);

	if (seen && s->start_ns)
		seen(s);
}

void sgpu_watch_end(struct sgpu_seen *s)
{
	sgpu_watch_stop(s);
	sgpu_watch_tell(s);
}

static void watch(void (*seen)(const struct sgpu_seen *s))
{
	__atomic_store_n(&sgpu_watcher, seen, __ATOMIC_RELEASE);
}

const struct sgpu_watch_table *sgpu_watch_table(const CUuuid *id)
{
	static const struct sgpu_watch_table table = { sizeof(table), watch };

	_Static_assert(sizeof(SGPU_WATCH_ID) - 1 == sizeof(*id), "the bytes are the UUID");
	return id && !memcmp(id, SGPU_WATCH_ID, sizeof(*id)) ? &table : NULL;
}
