// SPDX-License-Identifier: Apache-2.0
/*
 * Allocator over the data area: memory at the same address in client and
 * worker, pinned by the worker. Owns cuMemAllocHost and managed memory and the
 * staging buffers. Its lists are the client's own, outside of the shared area.
 */
#include "client.h"

#include <stdlib.h>

/* Blocks in address order, without gaps; neighbours that are free are one. */
static pthread_mutex_t data_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wh_block *block;
static size_t blocks, room;

bool wh_data_init(void)
{
	room = 256;
	block = malloc(room * sizeof(*block));
	if (!block)
		return false;
	block[0] = (struct wh_block) { .start = wh_client.link.data,
				       .size = wh_client.link.data_size };
	blocks = 1;
	return true;
}

static bool make_room(void)
{
	struct wh_block *p;

	if (blocks < room)
		return true;
	p = realloc(block, room * 2 * sizeof(*p));
	if (!p)
		return false;
	block = p;
	room *= 2;
	return true;
}

/* Cut block i to `size` bytes; the rest becomes a free block behind it. */
static bool split(size_t i, size_t size)
{
	if (block[i].size == size)
		return true;
	if (!make_room())
		return false;
	memmove(&block[i + 1], &block[i], (blocks - i) * sizeof(*block));
	blocks++;
	block[i].size = size;
	block[i + 1].start += size;
	block[i + 1].size -= size;
	return true;
}

/* Best fit: large buffers come and go as a whole. */
static size_t find_free(size_t size)
{
	size_t i, best = blocks;

	for (i = 0; i < blocks; i++)
		if (!block[i].used && block[i].size >= size &&
		    (best == blocks || block[i].size < block[best].size))
			best = i;
	return best;
}

void *wh_data_alloc(size_t size, unsigned int flags, bool managed)
{
	size_t pages = (size + WH_PAGE_SIZE - 1) & ~(size_t)(WH_PAGE_SIZE - 1), i;
	void *p = NULL;

	if (!size || pages < size)
		return NULL;
	pthread_mutex_lock(&data_lock);
	i = find_free(pages);
	if (i < blocks && split(i, pages)) {
		block[i].used = true;
		block[i].flags = flags;
		block[i].managed = managed;
		p = block[i].start;
	}
	pthread_mutex_unlock(&data_lock);
	return p;
}

/* Index of the block that holds p, or `blocks`. */
static size_t find(const void *p)
{
	size_t lo = 0, hi = blocks, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if ((const uint8_t *)p < block[mid].start)
			hi = mid;
		else if ((const uint8_t *)p >= block[mid].start + block[mid].size)
			lo = mid + 1;
		else
			return mid;
	}
	return blocks;
}

static void merge(size_t i)
{
	if (i + 1 >= blocks || block[i].used || block[i + 1].used)
		return;
	block[i].size += block[i + 1].size;
	memmove(&block[i + 1], &block[i + 2], (blocks - i - 2) * sizeof(*block));
	blocks--;
}

bool wh_data_free(void *p)
{
	bool found;
	size_t i;

	pthread_mutex_lock(&data_lock);
	i = find(p);
	found = i < blocks && block[i].used && block[i].start == p;
	if (found) {
		block[i].used = false;
		block[i].managed = false;
		merge(i);
		if (i)
			merge(i - 1);
	}
	pthread_mutex_unlock(&data_lock);
	return found;
}

bool wh_data_block(const void *p, struct wh_block *out)
{
	bool found;
	size_t i;

	if (!wh_in_data(p, 1))
		return false;
	pthread_mutex_lock(&data_lock);
	i = find(p);
	found = i < blocks && block[i].used;
	if (found)
		*out = block[i];
	pthread_mutex_unlock(&data_lock);
	return found;
}
