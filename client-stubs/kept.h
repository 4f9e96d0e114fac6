/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that a library only reads: those of the lines `kept` of its description
 * (cuda-api/README.md), for a library that names kept and names in SHARED of its Makefile
 * (kept.c). Generated code calls these.
 */
#ifndef WORMHOLE_KEPT_H
#define WORMHOLE_KEPT_H

#include "library.h"

struct wh_kept_kind {
	struct wh_library *library;
	/* The call that ends one in the worker, and where its request has it. */
	uint32_t end;
	uint32_t end_size, end_at;
};

/*
 * A request that is kept, to be filled in as one that is sent, zeroed; NULL: no memory.
 * One of the next two takes it.
 */
void *wh_kept_begin(struct wh_call *c, uint32_t call, size_t size);
/* Where a request has what, in bytes. */
struct wh_kept_places {
	uint32_t at;		/* the descriptor; its response, a new one */
	uint32_t address;	/* that the descriptor keeps, or 0; one that is set replaces it */
};

/* Both: false if the library was not reached, c->result says why; else its status in *res. */
bool wh_kept_make(struct wh_call *c, struct wh_kept_kind *kind, struct wh_kept_places where,
		  uint64_t *name, int32_t *res);
/* *res is `bad` where it is no descriptor of this kind. */
bool wh_kept_set(struct wh_call *c, struct wh_kept_kind *kind, uint64_t name,
		 struct wh_kept_places where, int32_t bad, int32_t *res);
bool wh_kept_end(struct wh_call *c, struct wh_kept_kind *kind, uint64_t name, int32_t bad,
		 int32_t *res);
/* The worker's, for a call that reads it. Makes calls; what is none is left as it is. */
uint64_t wh_kept_real(struct wh_kept_kind *kind, uint64_t name);
/* For one that changes it: it is nobody else's from then on, whatever its kind. */
uint64_t wh_kept_own(uint64_t name);

#endif
