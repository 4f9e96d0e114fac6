// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the place in the host's memory to which paging.c moves what leaves a device. It is made once
 * and kept until the worker ends, since it costs more than the way: the kernel has to clear each
 * page, and the driver to pin it. So several threads make it, a part each at a time, while the
 * parts before are copied already. When somebody waits for the device, pages are made before the
 * memory leaves (wh_pinning_ahead()); that asks the driver for nothing and needs no context.
 */
#define _GNU_SOURCE
#include "limits/paged.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "populate.h"

#define HUGE	(2ull << 20)

/* Large pages are made and pinned in less time. They are not there before somebody needs them. */
static char *addresses(void)
{
	char *p = mmap(NULL, WH_PAGED_PART + HUGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p += -(uintptr_t)p % HUGE;
	madvise(p, WH_PAGED_PART, MADV_HUGEPAGE);
	return p;
}

/* With the lock. Part `i' of the table, whose last one it is or comes behind; NULL: no memory. */
static struct wh_paged_part *made(struct wh_paged *p, size_t i)
{
	struct wh_paged_part **grown, *part;

	if (i < p->parts)
		return p->part[i];
	grown = realloc(p->part, (i + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	p->part = grown;
	part = calloc(1, sizeof(*part));
	if (!part)
		return NULL;
	part->at = addresses();
	if (!part->at) {
		free(part);
		return NULL;
	}
	p->part[p->parts++] = part;
	return part;
}

static struct wh_paged_part *part_of(struct wh_paged *p, size_t i)
{
	struct wh_paged_part *part;

	pthread_mutex_lock(&p->place_lock);
	part = made(p, i);
	pthread_mutex_unlock(&p->place_lock);
	return part;
}

/* Where the kernel cannot do it by this call, the driver's pinning does. Two may be at it. */
static void populate(struct wh_paged_part *part)
{
	if (!__atomic_load_n(&part->filled, __ATOMIC_RELAXED) &&
	    !madvise(part->at, WH_PAGED_PART, MADV_POPULATE_WRITE))
		__atomic_store_n(&part->filled, true, __ATOMIC_RELAXED);
}

/* In a current context. What is not pinned is copied all the same, in more time. */
static void pin(struct wh_paged *p, struct wh_paged_part *part)
{
	CUresult res = p->real.cuMemHostRegister_v2(part->at, WH_PAGED_PART,
						    CU_MEMHOSTREGISTER_PORTABLE);

	part->pinned = res == CUDA_SUCCESS || res == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	if (!part->pinned)
		__atomic_store_n(&p->team.why, res, __ATOMIC_RELAXED);
}

/* --- Several threads ------------------------------------------------------------------------ */

/* The next part of the team's that nobody has begun with; NULL: there is none. */
static struct wh_paged_part *next_of(struct wh_paged *p)
{
	struct wh_pinning *team = &p->team;
	struct wh_paged_part *part = NULL;

	pthread_mutex_lock(&p->place_lock);
	while (!part && team->next < team->end) {
		part = p->part[team->next++];
		if (!part->pending)
			part = NULL;
	}
	pthread_mutex_unlock(&p->place_lock);
	return part;
}

static void settled(struct wh_paged *p, struct wh_paged_part *part)
{
	pthread_mutex_lock(&p->place_lock);
	part->pending = false;
	pthread_cond_broadcast(&p->team.settled);
	pthread_mutex_unlock(&p->place_lock);
}

static void *help(void *arg)
{
	struct wh_paged *p = arg;
	bool pins = p->real.cuCtxSetCurrent(p->team.ctx) == CUDA_SUCCESS;
	struct wh_paged_part *part;

	while ((part = next_of(p))) {
		populate(part);
		if (pins)
			pin(p, part);
		settled(p, part);
	}
	p->real.cuCtxSetCurrent(NULL);
	return NULL;
}

/* As many as the worker has CPUs. */
static size_t most_threads(void)
{
	size_t n = WH_PINNING_THREADS;
	cpu_set_t own;

	if (sched_getaffinity(0, sizeof(own), &own))
		return 1;
	return (size_t)CPU_COUNT(&own) < n ? (size_t)CPU_COUNT(&own) : n;
}

/* Returns how many of the first parts are still to be pinned. */
static size_t hand_over(struct wh_paged *p, size_t parts)
{
	struct wh_pinning *team = &p->team;
	size_t todo = 0;

	pthread_mutex_lock(&p->place_lock);
	team->next = 0;
	team->wanted = parts;
	for (team->end = 0; team->end < parts && made(p, team->end); team->end++) {
		p->part[team->end]->pending = !p->part[team->end]->pinned;
		todo += p->part[team->end]->pending;
	}
	pthread_mutex_unlock(&p->place_lock);
	return todo;
}

/* What no thread has begun with is left to who asks for it. */
static void take_back(struct wh_paged *p)
{
	struct wh_pinning *team = &p->team;

	pthread_mutex_lock(&p->place_lock);
	for (; team->next < team->end; team->next++)
		p->part[team->next]->pending = false;
	pthread_mutex_unlock(&p->place_lock);
}

void wh_pinning_begin(struct wh_paged *p, CUcontext ctx, uint64_t bytes)
{
	size_t todo = hand_over(p, (bytes + WH_PAGED_PART - 1) / WH_PAGED_PART);
	size_t most = most_threads();
	struct wh_pinning *team = &p->team;

	team->ctx = ctx;
	/* Who has one CPU, or one part to make, makes each when its turn comes. */
	if (todo > 1 && most > 1)
		for (team->n = 0; team->n < most && team->n < todo; team->n++)
			if (pthread_create(&team->thread[team->n], NULL, help, p))
				break;
	if (!team->n)
		take_back(p);
}

static size_t not_pinned(const struct wh_paged *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->parts && i < p->team.wanted; i++)
		n += !p->part[i]->pinned;
	return n;
}

void wh_pinning_end(struct wh_paged *p)
{
	struct wh_pinning *team = &p->team;
	size_t n;

	take_back(p);
	while (team->n)
		pthread_join(team->thread[--team->n], NULL);
	pthread_mutex_lock(&p->place_lock);
	n = not_pinned(p);
	pthread_mutex_unlock(&p->place_lock);
	if (n)
		fprintf(wh_messages(), "warn: worker: %zu of %zu parts of its memory's place in the host are not "
			"pinned: error %d; copies of these take longer\n", n, team->wanted, (int)team->why);
}

char *wh_pinning_part(struct wh_paged *p, size_t i)
{
	struct wh_paged_part *part;

	pthread_mutex_lock(&p->place_lock);
	part = made(p, i);
	while (part && part->pending)
		pthread_cond_wait(&p->team.settled, &p->place_lock);
	pthread_mutex_unlock(&p->place_lock);
	if (part && !part->pinned)
		pin(p, part);
	return part ? part->at : NULL;
}

/* --- Before it is needed ---------------------------------------------------------------------- */

void wh_pinning_ahead(struct wh_paged *p, uint64_t bytes, const uint32_t *order, uint32_t value)
{
	size_t parts = (bytes + WH_PAGED_PART - 1) / WH_PAGED_PART, i;
	struct wh_paged_part *part;

	for (i = 0; i < parts && __atomic_load_n(order, __ATOMIC_ACQUIRE) == value; i++) {
		part = part_of(p, i);
		if (!part)
			return;
		populate(part);
	}
}
