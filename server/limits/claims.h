/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims of a device, for turns.c: what tenants say in their seats, and how far it is believed
 * (claims.c).
 */
#ifndef WORMHOLE_CLAIMS_H
#define WORMHOLE_CLAIMS_H

#include "limits/bucket.h"
#include "limits/turns.h"

#define QUANTUM_US	40000u		/* length of a turn that others wait for */
#define ASKED_US	10000u		/* without a new question by then, nobody waits */

static inline uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline void store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

static inline bool past(uint64_t tsc, uint64_t now)
{
	return (int64_t)(now - tsc) > 0;
}

static inline uint64_t us(const struct wh_session *s, uint64_t n)
{
	return n * s->tsc_per_us;
}

/* Board and seats go by the server's numbers of devices, all else by the worker's. */
static inline unsigned int place(const struct wh_turns *v, int device)
{
	return wh_device_place(v->limits, (unsigned int)device);
}

static inline struct wh_turn *turn_of(const struct wh_session *s, int device)
{
	struct wh_turns *v = s->limits.turns;

	return v ? &v->own->device[place(v, device)] : NULL;
}

static inline struct wh_sm_device *device_of(struct wh_session *s, int device)
{
	return &s->limits.sm->device[device];
}

/* A claim's bits are the tenant's own word, but its class is the server's. */
struct wh_rank {
	uint8_t bits;		/* WH_RANK_* */
	int class;		/* below 0: low */
};

/*
 * Returns the claim of the next seat from *i on whose tenant takes turns on the device; NULL: there
 * is none.
 */
const struct wh_turn *wh_claim_next(struct wh_turns *v, unsigned int *i, int device);
/* The same, and maps nothing: a page that is being mapped just now is seen the next time. */
const struct wh_turn *wh_claim_next_mapped(const struct wh_turns *v, unsigned int *i, int device);

static inline bool has_device(const struct wh_turn *t, uint64_t now)
{
	return load(&t->since_tsc) && !past(load(&t->renewed_tsc), now);
}

static inline bool waits(const struct wh_session *s, const struct wh_turn *t, uint64_t now)
{
	uint64_t asked = load(&t->asked_tsc);

	return asked && !past(asked + us(s, ASKED_US), now);
}

/* The rank of a seat whose page is mapped, and of this worker. */
struct wh_rank wh_claim_rank(const struct wh_turns *v, unsigned int i, int device);
struct wh_rank wh_claim_own_rank(const struct wh_session *s, int device);
/*
 * Who goes first, if not who waits longer? Above 0: the former. A higher class does, unless the
 * lower one is late. In a class those do who are within their guarantee.
 */
int wh_rank_before(struct wh_rank a, struct wh_rank b);
/* The same of those who wait: who has quick turns need not wait for several long ones. */
int wh_rank_next(struct wh_rank a, struct wh_rank b);
/* Who waits does not want to wait for a long turn. */
bool wh_rank_hurries(struct wh_rank r);
/* May both work at the same time? All who are within their guarantee, or all who are beyond it. */
bool wh_rank_together(struct wh_rank a, struct wh_rank b);
/* Need we not wait until the other has stopped? */
bool wh_rank_overtakes(const struct wh_sm_device *d, struct wh_rank mine, struct wh_rank other);
/*
 * The claim of this seat holds us up: is it to be believed? The time since the last look is paid
 * from the seat's credit, which fills with the tenant's share. wh_claim_believed() takes nothing.
 */
bool wh_claim_believe(struct wh_session *s, unsigned int seat, int device, uint64_t now);
bool wh_claim_believed(const struct wh_session *s, unsigned int seat, int device);

#endif
