// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the rings of a tenant's workers while they write. A record is accepted if its
 * number says before and after the copy that it is complete. Records that were overwritten
 * meanwhile count as lost, and so do those that a worker had begun when it died.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tenant/clock.h"
#include "trace.h"

#define LEASE_NS	2000000000ULL	/* without renewal, workers stop after this time */
#define PATIENCE	200u		/* so often a record may be found incomplete */

struct wh_trace_reader {
	struct wh_trace_head *head;
	uint64_t lost;
	struct {
		uint64_t at;		/* index of the next record to read, from 0 */
		uint32_t waited;
	} ring[WH_TENANT_WORKERS];
};

static void renew(struct wh_trace_reader *r)
{
	__atomic_store_n(&r->head->until_ns, wh_now_ns() + LEASE_NS, __ATOMIC_RELAXED);
	__atomic_store_n(&r->head->on, 1, __ATOMIC_RELEASE);
}

struct wh_trace_reader *wh_trace_reader_open(int fd)
{
	struct wh_trace_reader *r = calloc(1, sizeof(*r));
	unsigned int i;

	if (!r)
		return NULL;
	r->head = wh_trace_map(fd);
	if (!r->head) {
		free(r);
		return NULL;
	}
	for (i = 0; i < WH_TENANT_WORKERS; i++)
		r->ring[i].at = __atomic_load_n(&r->head->ring[i].next, __ATOMIC_ACQUIRE);
	__atomic_fetch_add(&r->head->starts, 1, __ATOMIC_RELAXED);
	renew(r);
	return r;
}

enum found { WHOLE, BEGUN, OVER };

static enum found copy_record(const struct wh_trace_record *from, uint64_t number,
			      struct wh_trace_record *to)
{
	uint64_t n = __atomic_load_n(&from->number, __ATOMIC_ACQUIRE);

	if (n != number)
		return n < number ? BEGUN : OVER;
	memcpy(to, from, sizeof(*to));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&from->number, __ATOMIC_RELAXED) == number ? WHOLE : OVER;
}

/* @last means that nobody writes any more. */
static bool read_ring(struct wh_trace_reader *r, unsigned int i, struct wh_trace_file *f, bool last)
{
	const struct wh_trace_record *ring = wh_trace_ring(r->head, i);
	uint64_t next = __atomic_load_n(&r->head->ring[i].next, __ATOMIC_ACQUIRE);
	uint64_t at = r->ring[i].at;
	struct wh_trace_record one;
	bool some = false;

	/* A worker wrote an impossible number, so reading continues from it. */
	if (next < at)
		r->ring[i].at = at = next;
	if (next - at > WH_TRACE_RECORDS) {
		r->lost += next - at - WH_TRACE_RECORDS;
		at = next - WH_TRACE_RECORDS;
	}
	for (; at < next; at++) {
		switch (copy_record(&ring[at % WH_TRACE_RECORDS], at + 1, &one)) {
		case WHOLE:
			wh_trace_file_put(f, &one);
			some = true;
			break;
		case BEGUN:
			if (!last && r->ring[i].waited++ < PATIENCE)
				goto out;
			/* fallthrough */
		case OVER:
			r->lost++;
		}
		r->ring[i].waited = 0;
	}
out:
	r->ring[i].at = at;
	return some;
}

static bool read_all(struct wh_trace_reader *r, struct wh_trace_file *f, bool last)
{
	bool some = false;
	unsigned int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		some = read_ring(r, i, f, last) || some;
	return some;
}

bool wh_trace_reader_read(struct wh_trace_reader *r, struct wh_trace_file *f)
{
	renew(r);
	return read_all(r, f, false);
}

/* Turns tracing off. If others trace, too, they turn it on again at their next reading. */
uint64_t wh_trace_reader_close(struct wh_trace_reader *r, struct wh_trace_file *f)
{
	uint64_t lost;

	__atomic_store_n(&r->head->on, 0, __ATOMIC_RELEASE);
	read_all(r, f, true);
	lost = r->lost;
	munmap(r->head, WH_TRACE_SIZE);
	free(r);
	return lost;
}
