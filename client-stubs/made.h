/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of the worker's, by the requests that make them: those that were made alike are
 * one. For kept.c and what is beside it, and for cuDNN's backend descriptors.
 */
#ifndef WORMHOLE_MADE_H
#define WORMHOLE_MADE_H

#include "library.h"

/* More than one where they refer to each other by their addresses, and may be set later. */
#define WH_MADE_PLACES	12u

struct wh_made;

/* One type of descriptors; static. */
struct wh_kept_kind {
	struct wh_library *library;
	/* The call that ends one, and where its request has it; 0: there is none. */
	uint32_t end;
	uint32_t end_size, end_at;
	uint32_t type;		/* WH_H_*: its name stands in a struct of the program's; or 0 */
	int32_t full[2];	/* statuses by which the worker lacks memory: idle ones end then */
	uint32_t weight;	/* how much memory one is, besides */
	bool by_context;	/* one context's are not another's */
	bool own;		/* it is never another's, and the worker's from its making on */
	bool now;		/* the worker has one as soon as the program does */
	bool follows;		/* it ends with what it is made of, though there is a call, too */
	bool alone;		/* one thread at a time has one, which keeps no address: no lock */
	void (*forget)(struct wh_made *m);	/* before it ends: its notes */
};

/* What a call to the worker came to. */
struct wh_outcome {
	bool answered;
	CUresult lost;		/* why not */
	int32_t res;
};
#define WH_GOOD		((struct wh_outcome) { .answered = true })
#define WH_NO_MEMORY	((struct wh_outcome) { .lost = CUDA_ERROR_OUT_OF_MEMORY })

static inline bool wh_good(struct wh_outcome o)
{
	return o.answered && !o.res;
}

/* A request, its bytes behind it, padded. No padding inside: records are compared as bytes. */
struct wh_record {
	const struct wh_kept_kind *kind;
	uint64_t when;		/* of all steps of the process; 0 in the log of a wh_made */
	uint32_t call, null;
	uint32_t size;		/* of the request */
	uint32_t at;		/* of the descriptor in it; of one that makes it, in the response */
	uint32_t address;	/* in it, that the descriptor keeps, or 0 */
	uint32_t key;		/* a word in it: which of its values the call sets; or 0 */
	/* Others in it, a word each: a place below WH_MADE_PLACES, or a struct wh_made. */
	uint16_t refs_at, refs;
	uint8_t place;		/* the descriptor's, among those of a wh_made */
	bool makes;
	bool replaces;		/* an earlier one of this call and key is void */
	bool now;		/* it has to be in the worker once this is taken */
	bool refused;		/* the library has refused it, and does so again */
	uint8_t resv[7];
};

/* It holds each struct wh_made that a record refers to. */
struct wh_log {
	uint8_t *bytes;
	size_t size;
};

struct wh_made {
	struct wh_made *next, **at;		/* in a bucket */
	struct wh_made *older, *newer;		/* of those that nobody has */
	const struct wh_kept_kind *kind;
	struct wh_log log;
	uint64_t hash;		/* the same of all that are made alike, also later */
	uint64_t real[WH_MADE_PLACES];
	uint32_t places;
	uint32_t users;
	bool listed;		/* it is found by its log, and stays when nobody has it */
	void *notes;		/* the kind's */
};

static inline uint64_t wh_mix(uint64_t h, uint64_t w)
{
	h = (h ^ w) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

static inline size_t wh_record_bytes(const struct wh_record *r)
{
	return sizeof(*r) + ((r->size + 7) & ~(size_t)7);
}

static inline uint8_t *wh_record_request(const struct wh_record *r)
{
	return (uint8_t *)(r + 1);
}

static inline uint64_t *wh_record_refs(const struct wh_record *r)
{
	return (uint64_t *)(wh_record_request(r) + r->refs_at);
}

/* The record behind; NULL: the first. NULL when there is none. */
static inline struct wh_record *wh_record_next(const struct wh_log *l, const struct wh_record *r)
{
	uint8_t *p = r ? (uint8_t *)r + wh_record_bytes(r) : l->bytes;

	return p && p < l->bytes + l->size ? (struct wh_record *)p : NULL;
}

struct wh_record *wh_log_last(const struct wh_log *l);

/* What one is whose last place it is. */
static inline uint64_t wh_made_real(const struct wh_made *m)
{
	return m->real[m->places - 1];
}

uint64_t wh_log_hash(const struct wh_log *l);
void wh_log_free(struct wh_log *l);
/* A log has got this record: it holds what that refers to. */
void wh_record_hold(const struct wh_record *r);
/* Has the library taken all of it before? It takes it again, then. */
bool wh_log_known(const struct wh_log *l);

/* In the worker, by the numbers of each place there; what is made gets one. */
struct wh_outcome wh_record_run(const struct wh_record *r, uint64_t *real);
/* All of it; nothing is made if that fails. */
struct wh_outcome wh_log_run(const struct wh_log *l, uint64_t *real);
struct wh_outcome wh_real_destroy(const struct wh_kept_kind *kind, uint64_t real);
/* One that the program cannot name: each end is as good as the last, so it is posted. */
void wh_real_end(const struct wh_kept_kind *kind, uint64_t real);

/* One that is so, held for the caller; made where there is none. */
struct wh_outcome wh_made_get(const struct wh_log *l, struct wh_made **made);
/* NULL instead of making one. */
struct wh_made *wh_made_find(const struct wh_log *l);
/* The same by one more step behind `before`, with which it is `after`: the library's to judge. */
struct wh_outcome wh_made_extend(const struct wh_log *before, const struct wh_record *step,
				 const struct wh_log *after, struct wh_made **made);
/* The numbers of one that nobody has, which is the caller's from then on; false: there is none. */
bool wh_made_take(const struct wh_log *l, uint64_t *real);
/* One that is like no other, of a hash that the caller knows; its log is made of `l`. */
struct wh_made *wh_made_alone(const struct wh_log *l, uint64_t hash, uint64_t real);
void wh_made_hold(struct wh_made *m);
void wh_made_leave(struct wh_made *m);
/* End those that nobody has. */
void wh_made_end_idle(void);

#endif
