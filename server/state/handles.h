/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's handle table: which values a client may name, and the driver's object for each. A
 * client value is type, generation and index, all of which are checked. Each handle has an owner
 * (context, module, graph, ...) and ends with it, so that a stale value can never name a newer
 * object.
 */
#ifndef WORMHOLE_HANDLES_H
#define WORMHOLE_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WH_MAX_HANDLES	(1u << 20)
/* The first entries have their objects put there: each has one handle in all sessions. */
#define WH_HANDLE_PLACES	16

struct wh_handle {
	void *real;		/* the driver's object; NULL: the entry is free */
	uint64_t id;		/* the client's value; an id of another index: no handle */
	uint32_t generation;
	uint16_t type;		/* WH_H_* */
	uint8_t value;		/* the client sees `real` itself */
	uint8_t edition : 7;	/* of the library's file that the object is of (wire.h) */
	uint8_t reserved : 1;	/* free, and known to the client: wh_handles_reserve() */
	uint32_t owner;		/* index, 0 for none */
	uint32_t next;		/* hash chain, or list of free entries */
	uint32_t children;	/* living entries whose owner is this one */
	uint32_t again;		/* drops that only count: see wh_handles_retain() */
};

struct wh_handles {
	struct wh_handle *entry;	/* entry 0 is never used */
	uint32_t used;			/* entries ever used; this index is the first unused one */
	uint32_t room;
	uint32_t free;			/* list head, 0 for none */
	uint32_t *bucket;		/* heads of chains of real objects, by type and address */
	uint32_t buckets;
	uint8_t edition;		/* of the library's file that the running call is for */
};

bool wh_handles_init(struct wh_handles *h);
void wh_handles_free(struct wh_handles *h);

static inline uint32_t wh_handle_index(uint64_t id)
{
	return (uint32_t)id;
}

/* The types of libraries' objects begin here; the driver's are below. */
#define WH_HANDLE_LIBRARIES	64u

/*
 * A process may have several files of a library, of different majors. An object of one must never
 * reach another: to a call for the one, objects of the others do not exist.
 */
static inline unsigned int wh_handle_edition(const struct wh_handles *h, unsigned int type)
{
	return type >= WH_HANDLE_LIBRARIES ? h->edition : 0;
}

/* An id's upper bits, of which the lowest two say which edition the object is of. */
#define WH_HANDLE_SHIFT	54
static inline uint64_t wh_handle_kind(unsigned int type, unsigned int edition)
{
	return (uint64_t)type << 2 | edition;
}

/*
 * Is it a living handle of that type? If so, *real is the driver's object, which is not NULL: a
 * free entry has an id that no lookup at its index can match.
 */
static inline bool wh_handles_has(const struct wh_handles *h, uint64_t id, unsigned int type,
				  void **real)
{
	const struct wh_handle *e = &h->entry[wh_handle_index(id)];

	if (wh_handle_index(id) >= h->used || e->id != id ||
	    id >> WH_HANDLE_SHIFT != wh_handle_kind(type, wh_handle_edition(h, type)))
		return false;
	*real = e->real;
	return true;
}

/* Returns the driver's object, or NULL for anything that is not a living handle of that type. */
static inline void *wh_handles_get(const struct wh_handles *h, uint64_t id, unsigned int type)
{
	void *real;

	return wh_handles_has(h, id, type, &real) ? real : NULL;
}

/* Has this driver object a handle already? */
bool wh_handles_find(const struct wh_handles *h, const void *real, unsigned int type);
/* Returns the handle of a driver object; a new one if there is none. 0 for NULL or when full. */
uint64_t wh_handles_put(struct wh_handles *h, void *real, unsigned int type, uint64_t owner);
/* Makes a new handle, whatever the table remembers of this address. */
uint64_t wh_handles_new(struct wh_handles *h, void *real, unsigned int type, uint64_t owner);
/*
 * Makes a handle whose number depends on the place alone, which is below WH_HANDLE_PLACES and free:
 * the child of a fork knows it from its parent, whose session was another one. It never ends.
 * False: there is no such place.
 */
bool wh_handles_place(struct wh_handles *h, uint32_t place, void *real, unsigned int type);
/* The same as wh_handles_put(), but a handle that existed already takes one more drop to end. */
uint64_t wh_handles_retain(struct wh_handles *h, void *real, unsigned int type, uint64_t owner);
/*
 * Reserves a handle whose object is to be made later, by a call that nobody waits for: the client
 * knows the value before that. 0: the table is full. It stays reserved until it is filled.
 */
uint64_t wh_handles_reserve(struct wh_handles *h, unsigned int type);
bool wh_handles_reserved(const struct wh_handles *h, uint64_t id, unsigned int type);
/* Makes the handle that is reserved as `id`, in the manner of wh_handles_new(). */
void wh_handles_new_reserved(struct wh_handles *h, uint64_t id, void *real, uint64_t owner);
/* Numbers that look the same to both sides: remember one, ask for it, forget it. */
bool wh_handles_new_value(struct wh_handles *h, uint64_t value, unsigned int type, uint64_t owner);
bool wh_handles_known(const struct wh_handles *h, uint64_t value, unsigned int type);
void wh_handles_drop_value(struct wh_handles *h, uint64_t value, unsigned int type);
/* Returns the handle's owner; 0: none. */
uint64_t wh_handles_owner(const struct wh_handles *h, uint64_t id);
/* End a handle and everything that it owns; or only what it owns. */
void wh_handles_drop(struct wh_handles *h, uint64_t id);
void wh_handles_drop_owned(struct wh_handles *h, uint64_t id);

#endif
