/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that a library only reads: those of the lines `kept` of its description
 * (cuda-api/README.md). A library that has some names kept, kept_object, made and names in
 * SHARED of its Makefile (kept.c). Generated code calls these functions. A descriptor's `name`
 * is what the program has: the number that it was given, or the address of its struct.
 */
#ifndef WORMHOLE_KEPT_H
#define WORMHOLE_KEPT_H

#include "made.h"

#define WH_KEPT_PARENTS	4u

/*
 * Returns a zeroed request that is kept, to be filled in like one that is sent. NULL: no
 * memory. wh_kept_make() or wh_kept_set() takes it over.
 */
void *wh_kept_begin(struct wh_call *c, uint32_t call, size_t size);
/* The offsets in a request, in bytes. */
struct wh_kept_places {
	uint32_t at;		/* of the descriptor; of a new one, in the response */
	uint32_t address;	/* of an address that the descriptor keeps, or 0 */
	uint32_t key;		/* of the word that says which value is set; 0: the call sets all */
	uint32_t parents;	/* of the names of the objects it is made of, a word for each */
	const struct wh_kept_kind *parent[WH_KEPT_PARENTS];
};

/* Makes a descriptor. `out` gets its number, or is the program's struct. */
struct wh_outcome wh_kept_make(struct wh_call *c, const struct wh_kept_kind *kind,
			       struct wh_kept_places where, void *out, int32_t bad);
/* Returns `bad` if `name` is no descriptor of this kind. */
struct wh_outcome wh_kept_set(struct wh_call *c, const struct wh_kept_kind *kind, uint64_t name,
			      struct wh_kept_places where, int32_t bad);
struct wh_outcome wh_kept_end(const struct wh_kept_kind *kind, uint64_t name, int32_t bad);
/*
 * Returns the worker's descriptor for a call that reads it. It may make calls to the worker. A
 * name that is no descriptor is returned as it is.
 */
uint64_t wh_kept_real(const struct wh_kept_kind *kind, uint64_t name);
/*
 * The same for a call that changes it. From then on the worker's descriptor belongs to this one
 * alone, whatever its kind.
 */
uint64_t wh_kept_own(uint64_t name);

/*
 * The worker's descriptor for a struct, for one call: it stays as it is from
 * wh_kept_begin_use() to wh_kept_end_use().
 */
struct wh_kept_use {
	struct wh_made *made;	/* NULL: `real` is the program's own, and calls may change it */
	uint64_t real;
};
struct wh_outcome wh_kept_begin_use(const struct wh_kept_kind *kind, const void *p, int32_t bad,
				    struct wh_kept_use *it);
/* The same for a call that changes the descriptor. */
struct wh_outcome wh_kept_begin_change(const struct wh_kept_kind *kind, const void *p, int32_t bad,
				       struct wh_kept_use *it);
void wh_kept_end_use(struct wh_kept_use *it);
/*
 * Returns a hash that is the same for all to which the same was done. 0: `p` is no descriptor,
 * or requests alone do not say what it is.
 */
uint64_t wh_kept_about(const struct wh_kept_kind *kind, const void *p);

#endif
