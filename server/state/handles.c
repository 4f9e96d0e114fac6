// SPDX-License-Identifier: Apache-2.0
/*
 * The handle table of a session. Owns the translation between client values and driver objects in
 * both directions; knows nothing about CUDA. A lookup is an index and three comparisons; only new
 * objects may allocate memory.
 */
#include "state/handles.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM	4096
#define FIRST_BUCKETS	8192

/* Ids of entries that are no handles: no lookup at their index can match them. */
#define NO_ID		0
#define NO_ID_AT_0	1

/* An id is a type in the top byte, two bits for the edition, 22 bits of generation, an index. */
static uint64_t make_id(const struct wh_handles *h, uint32_t i, uint32_t generation)
{
	const struct wh_handle *e = &h->entry[i];

	return wh_handle_kind(e->type, e->edition) << WH_HANDLE_SHIFT |
	       (uint64_t)(generation & 0x3fffff) << 32 | i;
}

static uint32_t *bucket_of(const struct wh_handles *h, const void *real, unsigned int type)
{
	uint64_t x = ((uint64_t)(uintptr_t)real ^ (uint64_t)type << 48) * 0x9e3779b97f4a7c15ULL;

	return &h->bucket[(x >> 32) & (h->buckets - 1)];
}

bool wh_handles_init(struct wh_handles *h)
{
	memset(h, 0, sizeof(*h));
	h->entry = calloc(FIRST_ROOM, sizeof(*h->entry));
	h->bucket = calloc(FIRST_BUCKETS, sizeof(*h->bucket));
	h->room = FIRST_ROOM;
	h->buckets = FIRST_BUCKETS;
	h->used = 1 + WH_HANDLE_PLACES;
	if (h->entry && h->bucket) {
		h->entry[0].id = NO_ID_AT_0;
		return true;
	}
	wh_handles_free(h);
	return false;
}

void wh_handles_free(struct wh_handles *h)
{
	free(h->entry);
	free(h->bucket);
	memset(h, 0, sizeof(*h));
}

static struct wh_handle *find(const struct wh_handles *h, uint64_t id)
{
	uint32_t i = wh_handle_index(id);

	return i < h->used && h->entry[i].id == id ? &h->entry[i] : NULL;
}

uint64_t wh_handles_owner(const struct wh_handles *h, uint64_t id)
{
	const struct wh_handle *e = find(h, id);

	return e && e->owner ? h->entry[e->owner].id : 0;
}

static uint32_t lookup(const struct wh_handles *h, const void *real, unsigned int type, bool value)
{
	uint32_t i;

	for (i = *bucket_of(h, real, type); i; i = h->entry[i].next)
		if (h->entry[i].real == real && h->entry[i].type == type &&
		    h->entry[i].value == value &&
		    h->entry[i].edition == wh_handle_edition(h, type))
			return i;
	return 0;
}

static bool grow(struct wh_handles *h)
{
	uint32_t i, room = h->room * 2, *bucket;
	struct wh_handle *entry;

	if (room > WH_MAX_HANDLES)
		return false;
	entry = realloc(h->entry, room * sizeof(*entry));
	if (!entry)
		return false;
	memset(entry + h->room, 0, (room - h->room) * sizeof(*entry));
	h->entry = entry;
	h->room = room;
	bucket = calloc((size_t)h->buckets * 2, sizeof(*bucket));
	if (!bucket)
		return false;
	free(h->bucket);
	h->bucket = bucket;
	h->buckets *= 2;
	for (i = 1; i < h->used; i++) {
		if (!entry[i].real)
			continue;
		bucket = bucket_of(h, entry[i].real, entry[i].type);
		entry[i].next = *bucket;
		*bucket = i;
	}
	return true;
}

static uint32_t take_entry(struct wh_handles *h)
{
	uint32_t i = h->free;

	if (i) {
		h->free = h->entry[i].next;
		return i;
	}
	if (h->used == h->room && !grow(h))
		return 0;
	return h->used++;
}

static void fill(struct wh_handles *h, uint32_t i, void *real, unsigned int type, uint64_t owner,
		 bool value)
{
	uint32_t *bucket = bucket_of(h, real, type);
	struct wh_handle *e = &h->entry[i];

	e->real = real;
	e->type = type;
	e->value = value;
	e->edition = wh_handle_edition(h, type);
	e->reserved = false;
	e->generation++;
	e->id = value ? NO_ID : make_id(h, i, e->generation);
	e->children = 0;
	e->again = 0;
	e->owner = find(h, owner) ? wh_handle_index(owner) : 0;
	if (e->owner)
		h->entry[e->owner].children++;
	e->next = *bucket;
	*bucket = i;
}

static uint32_t insert(struct wh_handles *h, void *real, unsigned int type, uint64_t owner,
		       bool value)
{
	uint32_t i = real ? take_entry(h) : 0;

	if (i)
		fill(h, i, real, type, owner, value);
	return i;
}

bool wh_handles_place(struct wh_handles *h, uint32_t place, void *real, unsigned int type)
{
	if (place >= WH_HANDLE_PLACES || !real || h->entry[1 + place].real)
		return false;
	fill(h, 1 + place, real, type, 0, false);
	return true;
}

static void unchain(struct wh_handles *h, uint32_t i)
{
	uint32_t *p = bucket_of(h, h->entry[i].real, h->entry[i].type);

	while (*p && *p != i)
		p = &h->entry[*p].next;
	if (*p)
		*p = h->entry[i].next;
}

static void release(struct wh_handles *h, uint32_t i)
{
	struct wh_handle *e = &h->entry[i];

	unchain(h, i);
	if (e->owner)
		h->entry[e->owner].children--;
	e->real = NULL;
	e->id = NO_ID;
	e->owner = 0;
	e->next = h->free;
	h->free = i;
}

static bool below(const struct wh_handles *h, uint32_t j, uint32_t i)
{
	while (j && j != i)
		j = h->entry[j].owner;
	return j == i;
}

/*
 * Releases everything that depends on entry i, leaves first, one pass for each level. There is no
 * recursion, since the client determines the shape of the table.
 */
static void release_owned(struct wh_handles *h, uint32_t i)
{
	uint32_t j;

	while (h->entry[i].children)
		for (j = 1; j < h->used; j++)
			if (j != i && h->entry[j].real && !h->entry[j].children && below(h, j, i))
				release(h, j);
}

/* The driver has made an object: what the table remembers of its address has ended. */
static void release_real(struct wh_handles *h, void *real, unsigned int type)
{
	uint32_t i = real ? lookup(h, real, type, false) : 0;

	if (i) {
		release_owned(h, i);
		release(h, i);
	}
}

uint64_t wh_handles_new(struct wh_handles *h, void *real, unsigned int type, uint64_t owner)
{
	uint32_t i;

	release_real(h, real, type);
	i = insert(h, real, type, owner, false);
	return i ? h->entry[i].id : 0;
}

/* --- Handles that the client knows before their objects --------------------------------- */

uint64_t wh_handles_reserve(struct wh_handles *h, unsigned int type)
{
	uint32_t i = take_entry(h);
	struct wh_handle *e = &h->entry[i];

	if (!i)
		return 0;
	e->type = type;
	e->edition = wh_handle_edition(h, type);
	e->reserved = true;
	/* As fill() will make it. */
	return make_id(h, i, e->generation + 1);
}

bool wh_handles_reserved(const struct wh_handles *h, uint64_t id, unsigned int type)
{
	uint32_t i = wh_handle_index(id);
	const struct wh_handle *e = &h->entry[i];

	return i < h->used && e->reserved && e->type == type &&
	       make_id(h, i, e->generation + 1) == id;
}

void wh_handles_new_reserved(struct wh_handles *h, uint64_t id, void *real, uint64_t owner)
{
	uint32_t i = wh_handle_index(id);
	unsigned int type = h->entry[i].type;

	release_real(h, real, type);
	fill(h, i, real, type, owner, false);
}

/* --- Objects that the driver names, and numbers ----------------------------------------- */

bool wh_handles_find(const struct wh_handles *h, const void *real, unsigned int type)
{
	return real && lookup(h, real, type, false);
}

uint64_t wh_handles_put(struct wh_handles *h, void *real, unsigned int type, uint64_t owner)
{
	uint32_t i = real ? lookup(h, real, type, false) : 0;

	if (!i)
		i = insert(h, real, type, owner, false);
	return i ? h->entry[i].id : 0;
}

uint64_t wh_handles_retain(struct wh_handles *h, void *real, unsigned int type, uint64_t owner)
{
	uint32_t i = real ? lookup(h, real, type, false) : 0;

	if (i)
		h->entry[i].again++;
	else
		i = insert(h, real, type, owner, false);
	return i ? h->entry[i].id : 0;
}

bool wh_handles_new_value(struct wh_handles *h, uint64_t value, unsigned int type, uint64_t owner)
{
	void *real = (void *)(uintptr_t)value;

	return lookup(h, real, type, true) || insert(h, real, type, owner, true);
}

bool wh_handles_known(const struct wh_handles *h, uint64_t value, unsigned int type)
{
	return value && lookup(h, (void *)(uintptr_t)value, type, true);
}

void wh_handles_drop_value(struct wh_handles *h, uint64_t value, unsigned int type)
{
	uint32_t i = lookup(h, (void *)(uintptr_t)value, type, true);

	if (i)
		release(h, i);
}

void wh_handles_drop_owned(struct wh_handles *h, uint64_t id)
{
	if (find(h, id))
		release_owned(h, wh_handle_index(id));
}

void wh_handles_drop(struct wh_handles *h, uint64_t id)
{
	struct wh_handle *e = find(h, id);

	if (!e)
		return;
	if (e->again) {
		e->again--;
		return;
	}
	release_owned(h, wh_handle_index(id));
	release(h, wh_handle_index(id));
}
