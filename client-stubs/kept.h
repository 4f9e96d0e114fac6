/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that a library only reads: those of the lines `kept` of its description
 * (cuda-api/README.md), for a library that names kept, kept_object, made and names in SHARED of
 * its Makefile (kept.c). Generated code calls these. A descriptor's `name` is what the program
 * has: the number that it was given, or the address of its struct.
 */
#ifndef WORMHOLE_KEPT_H
#define WORMHOLE_KEPT_H

#include "made.h"

#define WH_KEPT_PARENTS	4u

/*
 * A request that is kept, to be filled in as one that is sent, zeroed; NULL: no memory.
 * One of the next two takes it.
 */
void *wh_kept_begin(struct wh_call *c, uint32_t call, size_t size);
/* Where a request has what, in bytes. */
struct wh_kept_places {
	uint32_t at;		/* the descriptor; its response, a new one */
	uint32_t address;	/* that the descriptor keeps, or 0 */
	uint32_t key;		/* which of its values is set; 0: the call sets all */
	uint32_t parents;	/* those of which it is made, a word for each, by their names */
	const struct wh_kept_kind *parent[WH_KEPT_PARENTS];
};

/* To `out` comes its number; or it is the program's struct. */
struct wh_outcome wh_kept_make(struct wh_call *c, const struct wh_kept_kind *kind,
			       struct wh_kept_places where, void *out, int32_t bad);
/* `bad` where it is no descriptor of this kind. */
struct wh_outcome wh_kept_set(struct wh_call *c, const struct wh_kept_kind *kind, uint64_t name,
			      struct wh_kept_places where, int32_t bad);
struct wh_outcome wh_kept_end(const struct wh_kept_kind *kind, uint64_t name, int32_t bad);
/* The worker's, for a call that reads it. Makes calls; what is none is left as it is. */
uint64_t wh_kept_real(const struct wh_kept_kind *kind, uint64_t name);
/* For one that changes it: it is nobody else's from then on, whatever its kind. */
uint64_t wh_kept_own(uint64_t name);

/* A struct's in the worker, for a call: as it is from the one to the other. */
struct wh_kept_use {
	struct wh_made *made;	/* NULL: it is the program's own, and may be changed by calls */
	uint64_t real;
};
struct wh_outcome wh_kept_begin_use(const struct wh_kept_kind *kind, const void *p, int32_t bad,
				    struct wh_kept_use *it);
/* The same for a call that changes it. */
struct wh_outcome wh_kept_begin_change(const struct wh_kept_kind *kind, const void *p, int32_t bad,
				       struct wh_kept_use *it);
void wh_kept_end_use(struct wh_kept_use *it);
/* The same of all to which the same was done; 0: it is none, or says more than that. */
uint64_t wh_kept_about(const struct wh_kept_kind *kind, const void *p);

#endif
