/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors in the worker, found by the requests that make them: all that were made alike are
 * one. For kept.c and the files beside it, and for cuDNN's backend descriptors.
 */
#ifndef WORMHOLE_MADE_H
#define WORMHOLE_MADE_H

#include "library.h"

/*
 * A log has several places where objects refer to each other by their addresses, and may be set
 * later.
 */
#define WH_MADE_PLACES	12u

struct wh_made;

/* One type of descriptors; each is static. */
struct wh_kept_kind {
	struct wh_library *library;
	/*
	 * The call that ends one, and the offset of the descriptor in its request. 0: there is
	 * none.
	 */
	uint32_t end;
	uint32_t end_size, end_at;
	uint32_t type;		/* WH_H_*: the name is in a struct of the program; or 0 */
	int32_t full[2];	/* statuses that say the worker lacks memory: idle ones end then */
	uint32_t weight;	/* how much memory one has, beyond the least */
	bool by_context;	/* one context's descriptors are not used in another */
	bool own;		/* each has its own in the worker as soon as it is made */
	bool now;		/* the worker makes one as soon as the program does */
	/* It ends with what it is made of, though there is a call to end it, too. */
	bool follows;
	/* One thread at a time uses one, and it keeps no address: no lock. */
	bool alone;
	void (*forget)(struct wh_made *m);	/* called before it ends: frees its notes */
};

/* The result of a call to the worker. */
struct wh_outcome {
	bool answered;
	CUresult lost;		/* why no answer came */
	int32_t res;
};
#define WH_GOOD		((struct wh_outcome) { .answered = true })
#define WH_NO_MEMORY	((struct wh_outcome) { .lost = CUDA_ERROR_OUT_OF_MEMORY })

static inline bool wh_good(struct wh_outcome o)
{
	return o.answered && !o.res;
}

/*
 * A request. Its bytes follow, padded to words. The struct has no padding, since records are
 * compared as bytes.
 */
struct wh_record {
	const struct wh_kept_kind *kind;
	/* The number among all steps of the process; 0 in the log of a wh_made. */
	uint64_t when;
	uint32_t call, null;
	uint32_t size;		/* bytes of the request */
	uint32_t at;		/* offset of the descriptor in it; of a new one, in the response */
	uint32_t address;	/* offset of an address that the descriptor keeps, or 0 */
	uint32_t key;		/* offset of the word that says which value the call sets; or 0 */
	/*
	 * Words in it that refer to others: each is a place below WH_MADE_PLACES, or a struct
	 * wh_made.
	 */
	uint16_t refs_at, refs;
	uint8_t place;		/* the descriptor's place among those of a wh_made */
	bool makes;
	bool replaces;		/* an earlier record of this call and key is void */
	bool now;		/* the worker has to have it once this is accepted */
	bool refused;		/* the library has refused it, and will refuse it again */
	uint8_t resv[7];
};

/* A log holds each struct wh_made that a record refers to. */
struct wh_log {
	uint8_t *bytes;
	size_t size;
};

struct wh_made {
	struct wh_made *next, **at;		/* in a bucket of the table */
	struct wh_made *older, *newer;		/* in the list of those that nobody has */
	const struct wh_kept_kind *kind;
	struct wh_log log;
	uint64_t hash;		/* the same for all that are made alike, also later */
	uint64_t real[WH_MADE_PLACES];
	uint32_t places;
	uint32_t users;
	bool listed;		/* it can be found by its log, and stays when nobody has it */
	void *notes;		/* the kind's own */
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

/* Returns the record behind `r`, or the first one if `r` is NULL. NULL: there is none. */
static inline struct wh_record *wh_record_next(const struct wh_log *l, const struct wh_record *r)
{
	uint8_t *p = r ? (uint8_t *)r + wh_record_bytes(r) : l->bytes;

	return p && p < l->bytes + l->size ? (struct wh_record *)p : NULL;
}

struct wh_record *wh_log_last(const struct wh_log *l);

/*
 * Returns the number in the worker of the descriptor that the whole was made for: the last
 * place.
 */
static inline uint64_t wh_made_real(const struct wh_made *m)
{
	return m->real[m->places - 1];
}

uint64_t wh_log_hash(const struct wh_log *l);
void wh_log_free(struct wh_log *l);
/* A log has got this record, so hold what it refers to. */
void wh_record_hold(const struct wh_record *r);
/* Has the library accepted the whole log before? Then it accepts it again. */
bool wh_log_known(const struct wh_log *l);

/*
 * Runs a record in the worker. `real` has the worker's number of each place; a new one gets its
 * own.
 */
struct wh_outcome wh_record_run(const struct wh_record *r, uint64_t *real);
/* Runs the whole log. If that fails, nothing of it is left in the worker. */
struct wh_outcome wh_log_run(const struct wh_log *l, uint64_t *real);
struct wh_outcome wh_real_destroy(const struct wh_kept_kind *kind, uint64_t real);
/* Ends one that the program cannot name. Nobody waits for the result, so the call is posted. */
void wh_real_end(const struct wh_kept_kind *kind, uint64_t real);

/* Returns one with that log, held for the caller, and makes it if there is none. */
struct wh_outcome wh_made_get(const struct wh_log *l, struct wh_made **made);
/*
 * Makes one by one more step behind `before`; `after` is the log with the step. The library
 * judges the step.
 */
struct wh_outcome wh_made_extend(const struct wh_log *before, const struct wh_record *step,
				 const struct wh_log *after, struct wh_made **made);
/*
 * Takes the worker's numbers of one that nobody has: they are the caller's then. False: there
 * is none.
 */
bool wh_made_take(const struct wh_log *l, uint64_t *real);
/* Returns one that is never shared, with a hash that the caller knows. Its log is a copy of `l`. */
struct wh_made *wh_made_alone(const struct wh_log *l, uint64_t hash, uint64_t real);
void wh_made_hold(struct wh_made *m);
void wh_made_leave(struct wh_made *m);
/* Ends those that nobody has. */
void wh_made_end_idle(void);

#endif
