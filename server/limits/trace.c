// SPDX-License-Identifier: Apache-2.0
/*
 * Writes records into the worker's ring. Several threads write at once: each takes a number, which
 * gives it a place, and marks the place as filled last. No writer waits for the reader.
 */
#include "limits/trace.h"
#include "tenant/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NAMES	4096u		/* a power of two; names may share a place */

struct wh_trace_names {
	uint32_t starts;	/* number of the trace in which they were said */
	uint64_t name[NAMES];
};

bool wh_trace_open(struct wh_session *s, int fd, unsigned int account, uint32_t client)
{
	struct wh_trace *t = &s->trace;

	if (fd < 0)
		return true;
	t->names = calloc(1, sizeof(*t->names));
	t->head = t->names ? wh_trace_map(fd) : NULL;
	if (!t->head)
		return false;
	t->ring = wh_trace_ring(t->head, account);
	t->next = &t->head->ring[account].next;
	t->client = client;
	t->on = &t->head->on;
	return true;
}

void wh_trace_close(struct wh_session *s)
{
	free(s->trace.names);
	free(s->trace.device);
	if (s->trace.head)
		munmap(s->trace.head, WH_TRACE_SIZE);
}

bool wh_trace_lives(struct wh_session *s)
{
	struct wh_trace_head *h = s->trace.head;

	if (wh_now_ns() < __atomic_load_n(&h->until_ns, __ATOMIC_RELAXED))
		return true;
	__atomic_store_n(&h->on, 0, __ATOMIC_RELAXED);
	return false;
}

void wh_trace_put(struct wh_session *s, struct wh_trace_record *r)
{
	uint64_t n = __atomic_fetch_add(s->trace.next, 1, __ATOMIC_RELAXED);
	struct wh_trace_record *to = &s->trace.ring[n % WH_TRACE_RECORDS];

	r->client = s->trace.client;
	r->slot = (uint16_t)wh_self.slot;
	r->number = 0;
	__atomic_store_n(&to->number, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(to, r, sizeof(*to));
	__atomic_store_n(&to->number, n + 1, __ATOMIC_RELEASE);
}

bool wh_trace_named(struct wh_session *s, uint64_t name)
{
	struct wh_trace_names *t = s->trace.names;
	uint32_t starts = __atomic_load_n(&s->trace.head->starts, __ATOMIC_RELAXED);
	uint64_t *place = &t->name[(name * 0x9e3779b97f4a7c15ULL >> 40) % NAMES];

	if (__atomic_exchange_n(&t->starts, starts, __ATOMIC_RELAXED) != starts)
		memset(t->name, 0, sizeof(t->name));
	return __atomic_exchange_n(place, name, __ATOMIC_RELAXED) == name;
}

void wh_trace_say_name(struct wh_session *s, uint64_t name, const char *text)
{
	size_t n = strlen(text) + 1, at;	/* the name ends with its NUL */
	struct wh_trace_record r;

	for (at = 0; at < n; at += WH_TRACE_TEXT) {
		r = (struct wh_trace_record) { .kind = WH_TRACE_NAME, .name = name, .value = at };
		memcpy(r.text, text + at, n - at < WH_TRACE_TEXT ? n - at : WH_TRACE_TEXT);
		wh_trace_put(s, &r);
	}
}
