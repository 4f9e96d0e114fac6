// SPDX-License-Identifier: Apache-2.0
/*
 * Allocators over memory at the same address in client and worker: the data area, which the
 * worker has pinned, and the far area, whose blocks memory.c pins one by one. Owns the memory
 * of cuMemAllocHost(), managed memory and the staging buffers. The lists are the client's own,
 * outside of the shared memory.
 */
#include "stubs.h"
#include "table.h"

#include <stdlib.h>

/* Blocks in address order, without gaps; free neighbours are joined. */
struct area {
	struct wh_block *block;
	size_t blocks, room;
};

static pthread_mutex_t data_lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
static struct area near WH_PAIR, far WH_PAIR;
static uint64_t block_ids WH_PAIR;	/* given out so far */

static bool area_init(struct area *a, void *start, size_t size)
{
	free(a->block);
	a->room = 256;
	a->blocks = 1;
	a->block = malloc(a->room * sizeof(*a->block));
	if (a->block)
		a->block[0] = (struct wh_block) { .start = start, .size = size };
	return a->block;
}

bool wh_data_init(void)
{
	return area_init(&near, wh_client.link.data, wh_client.link.data_size) &&
	       area_init(&far, wh_client.link.far, wh_client.link.far_size);
}

/* Cuts block i to `size` bytes. The rest becomes a free block behind it. */
static bool split(struct area *a, size_t i, size_t size)
{
	struct wh_block *b;

	if (a->block[i].size == size)
		return true;
	if (!WH_MAKE_ROOM(a->block, a->blocks, a->room, 256))
		return false;
	b = a->block;
	memmove(&b[i + 1], &b[i], (a->blocks - i) * sizeof(*b));
	a->blocks++;
	b[i].size = size;
	b[i + 1].start += size;
	b[i + 1].size -= size;
	return true;
}

/* Uses best fit, since large buffers come and go as a whole. */
static size_t find_free(const struct area *a, size_t size)
{
	const struct wh_block *b = a->block;
	size_t i, best = a->blocks;

	for (i = 0; i < a->blocks; i++)
		if (!b[i].used && b[i].size >= size &&
		    (best == a->blocks || b[i].size < b[best].size))
			best = i;
	return best;
}

uint64_t wh_block_id(void)
{
	return (1ULL << 62) + __atomic_add_fetch(&block_ids, 1, __ATOMIC_RELAXED);
}

static void *area_alloc(struct area *a, size_t size, unsigned int flags, bool managed)
{
	size_t pages = (size + WH_PAGE_SIZE - 1) & ~(size_t)(WH_PAGE_SIZE - 1), i;
	void *p = NULL;

	if (!size || pages < size)
		return NULL;
	pthread_mutex_lock(&data_lock);
	i = find_free(a, pages);
	if (i < a->blocks && split(a, i, pages)) {
		a->block[i].used = true;
		a->block[i].asked = size;
		a->block[i].id = wh_block_id();
		a->block[i].flags = flags;
		a->block[i].managed = managed;
		p = a->block[i].start;
	}
	pthread_mutex_unlock(&data_lock);
	return p;
}

void *wh_data_alloc(size_t size, unsigned int flags, bool managed)
{
	return area_alloc(&near, size, flags, managed);
}

void *wh_far_alloc(size_t size, unsigned int flags, bool managed)
{
	return area_alloc(&far, size, flags, managed);
}

/* Returns the index of the block that holds p, or `blocks`. */
static size_t find(const struct area *a, const void *p)
{
	size_t lo = 0, hi = a->blocks, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if ((const uint8_t *)p < a->block[mid].start)
			hi = mid;
		else if ((const uint8_t *)p >= a->block[mid].start + a->block[mid].size)
			lo = mid + 1;
		else
			return mid;
	}
	return a->blocks;
}

static void merge(struct area *a, size_t i)
{
	struct wh_block *b = a->block;

	if (i + 1 >= a->blocks || b[i].used || b[i + 1].used)
		return;
	b[i].size += b[i + 1].size;
	memmove(&b[i + 1], &b[i + 2], (a->blocks - i - 2) * sizeof(*b));
	a->blocks--;
}

bool wh_data_free(void *p)
{
	struct area *a = wh_in_far(p, 1) ? &far : &near;
	bool found;
	size_t i;

	pthread_mutex_lock(&data_lock);
	i = find(a, p);
	found = i < a->blocks && a->block[i].used && a->block[i].start == p;
	if (found) {
		a->block[i].used = false;
		a->block[i].managed = false;
		merge(a, i);
		if (i)
			merge(a, i - 1);
	}
	pthread_mutex_unlock(&data_lock);
	return found;
}

/* Makes the block at p the i-th, if p is inside the i-th. */
static bool split_at(struct area *a, size_t *i, const uint8_t *p)
{
	size_t before = p - a->block[*i].start;

	if (!before)
		return true;
	if (!split(a, *i, before))
		return false;
	++*i;
	return true;
}

void wh_data_free_part(void *p, size_t size)
{
	struct area *a = wh_in_far(p, 1) ? &far : &near;
	bool cut;
	size_t i;

	pthread_mutex_lock(&data_lock);
	i = find(a, p);
	cut = i < a->blocks && a->block[i].used &&
	      split_at(a, &i, p) && split(a, i, size);
	pthread_mutex_unlock(&data_lock);
	/* Without memory for the list, these pages stay in use. They are empty. */
	if (cut)
		wh_data_free(p);
}

bool wh_data_block(const void *p, struct wh_block *out)
{
	const struct area *a = wh_in_far(p, 1) ? &far : &near;
	bool found;
	size_t i;

	if (!wh_in_near(p, 1) && a == &near)
		return wh_client.registered && wh_registered_block(p, out);
	pthread_mutex_lock(&data_lock);
	i = find(a, p);
	found = i < a->blocks && a->block[i].used;
	if (found)
		*out = a->block[i];
	pthread_mutex_unlock(&data_lock);
	return found;
}
