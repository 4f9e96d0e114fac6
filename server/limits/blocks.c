// SPDX-License-Identifier: Apache-2.0
/*
 * The blocks of 2 MiB that small allocations share. The addresses that the driver gives show which
 * blocks it has. The gaps between the allocations show where the next one will most likely lie.
 * (Seen on an H200: the blocks of the addresses add up to the driver's figure, in whatever order
 * memory is allocated and freed.)
 */
#include "limits/memory.h"

#include <stdlib.h>

#define UNITS	(WH_MEM_BLOCK / WH_MEM_ALIGN)
#define WORDS	(UNITS / 64)

struct wh_mem_shared {
	uint64_t number;	/* address / WH_MEM_BLOCK */
	uint32_t parts;		/* allocations in it */
	uint32_t taken;		/* units */
	uint64_t bit[WORDS];	/* one for each unit: it is taken */
};

/*
 * Two devices may have memory in one block of addresses, as softgpu's do, whose memories adjoin.
 * Each has a block of its own then.
 */
static uint64_t key(int device, uint64_t number)
{
	return number * WH_TENANT_DEVICES + (uint64_t)device;
}

static struct wh_mem_shared *find(struct wh_mem_state *m, int device, uint64_t number)
{
	struct wh_mem_entry *e = wh_mem_find(m, WH_MEM_SHARED, key(device, number));

	return e ? m->device[device].shared[e->object] : NULL;
}

static struct wh_mem_shared *make(struct wh_mem_state *m, int device, uint64_t number)
{
	struct wh_mem_device *d = &m->device[device];
	uint32_t room = d->shared_room ? 2 * d->shared_room : 64;
	struct wh_mem_shared **more, *b;
	struct wh_mem_entry *e;

	if (d->shared_count == d->shared_room) {
		more = realloc(d->shared, room * sizeof(*more));
		if (!more)
			return NULL;
		d->shared = more;
		d->shared_room = room;
	}
	b = calloc(1, sizeof(*b));
	e = b ? wh_mem_add(m, WH_MEM_SHARED, key(device, number)) : NULL;
	if (!e) {
		free(b);
		return NULL;
	}
	b->number = number;
	e->object = d->shared_count;
	d->shared[d->shared_count++] = b;
	return b;
}

/* Ends a block. The last block of the list takes its place. */
static void end(struct wh_mem_state *m, int device, struct wh_mem_shared *b)
{
	struct wh_mem_device *d = &m->device[device];
	struct wh_mem_entry *e = wh_mem_find(m, WH_MEM_SHARED, key(device, b->number)), *last;
	struct wh_mem_shared *moved = d->shared[--d->shared_count];

	last = wh_mem_find(m, WH_MEM_SHARED, key(device, moved->number));
	d->shared[e->object] = moved;
	last->object = e->object;
	wh_mem_remove(m, e);
	free(b);
}

/* Returns how many units an allocation takes in its block, and in *first its first unit. */
static uint32_t units_of(uint64_t address, uint64_t bytes, uint32_t *first)
{
	uint64_t n = bytes / WH_MEM_ALIGN;

	*first = (uint32_t)(address % WH_MEM_BLOCK / WH_MEM_ALIGN);
	return n < UNITS - *first ? (uint32_t)n : (uint32_t)(UNITS - *first);
}

enum wh_block_found wh_block_add(struct wh_session *s, int device, uint64_t address,
				 uint64_t bytes)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_shared *b = find(m, device, address / WH_MEM_BLOCK);
	enum wh_block_found found = b ? WH_BLOCK_KNOWN : WH_BLOCK_NEW;
	uint32_t i, n;

	if (!b)
		b = make(m, device, address / WH_MEM_BLOCK);
	if (!b)
		return WH_BLOCK_LOST;
	n = units_of(address, bytes, &i);
	b->parts++;
	b->taken += n;
	for (; n; i++, n--)
		b->bit[i / 64] |= 1ull << i % 64;
	return found;
}

bool wh_block_drop(struct wh_session *s, int device, uint64_t address, uint64_t bytes)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_shared *b = find(m, device, address / WH_MEM_BLOCK);
	uint32_t i, n;

	if (!b)
		return false;
	n = units_of(address, bytes, &i);
	b->taken -= n;
	for (; n; i++, n--)
		b->bit[i / 64] &= ~(1ull << i % 64);
	if (--b->parts)
		return false;
	end(m, device, b);
	return true;
}

static bool has_gap(const struct wh_mem_shared *b, uint32_t units)
{
	uint32_t i, run = 0;

	if (UNITS - b->taken < units)
		return false;
	for (i = 0; i < UNITS; i++) {
		/* Skip whole words in which nothing is free. */
		if (i % 64 == 0 && b->bit[i / 64] == ~0ull) {
			run = 0;
			i += 63;
			continue;
		}
		run = b->bit[i / 64] >> i % 64 & 1 ? 0 : run + 1;
		if (run == units)
			return true;
	}
	return false;
}

bool wh_block_gap(const struct wh_session *s, int device, uint64_t bytes)
{
	const struct wh_mem_device *d = &s->limits.mem->device[device];
	uint32_t i, units = (uint32_t)(bytes / WH_MEM_ALIGN);

	for (i = d->shared_count; i-- > 0; )
		if (has_gap(d->shared[i], units))
			return true;
	return false;
}

void wh_blocks_free(struct wh_mem_state *m)
{
	uint32_t i;
	int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		for (i = 0; i < m->device[d].shared_count; i++)
			free(m->device[d].shared[i]);
		free(m->device[d].shared);
	}
}
