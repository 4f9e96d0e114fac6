// SPDX-License-Identifier: Apache-2.0
/*
 * Claims of a device by the tenants that take turns on it (turns.c): their ranks, and how far they
 * are believed.
 *
 * A seat is only a claim, by a worker in which any program's code may run by now. So each worker
 * keeps a credit for each other tenant. The time for which that tenant holds it up is taken off.
 * The tenant's share of the time that passes is added, by the board, which only the server writes.
 * Beyond the credit a claim is not believed, and the worker that waits goes on. So a lie costs
 * others what the liar might have used honestly, and one burst. An honest tenant whose work takes
 * longer than its credit loses accuracy: its measured time is too long, never too short.
 */
#include "limits/claims.h"

#define STOP_US		2000u		/* spare work may take so long to stop */
#define BURST_NS	500000000ll	/* so much may a tenant hold others up besides its share */
#define DEBT_NS		(-50000000ll)	/* the lowest credit, so that belief soon comes back */
#define LONG_AGO_NS	10000000000ull	/* a longer time counts as this long */

/* --- Seats ---------------------------------------------------------------------------- */

static const struct wh_seat *page_of(struct wh_turns *v, unsigned int i)
{
	uint64_t id = __atomic_load_n(&v->board->seat[i].tenant_id, __ATOMIC_ACQUIRE);
	struct wh_turn_peer *p = &v->peer[i];

	if (WH_UNLIKELY(p->tenant_id != id)) {
		/*
		 * wh_turn_awaited() may be looking at the page just now: it is unmapped at the next
		 * change.
		 */
		if (p->before)
			wh_turn_unmap(p->before);
		*p = (struct wh_turn_peer){ .tenant_id = id, .before = p->page };
		if (id)
			__atomic_store_n(&p->page, wh_turn_map(v, id), __ATOMIC_RELEASE);
	}
	return p->page;
}

/* The seat's share of the device's time, in percent; 0: its tenant takes no turns there. */
static unsigned int percent_of(const struct wh_turns *v, unsigned int i, int device)
{
	return __atomic_load_n(&v->board->seat[i].percent[place(v, device)], __ATOMIC_RELAXED);
}

/* Is there another seat from *i on whose tenant takes turns on the device? */
static bool next_seat(const struct wh_turns *v, unsigned int *i, int device)
{
	unsigned int top = __atomic_load_n(&v->board->top, __ATOMIC_ACQUIRE);

	for (top = top < WH_SEATS ? top : WH_SEATS; *i < top; ++*i)
		if (*i != v->seat && percent_of(v, *i, device))
			return true;
	return false;
}

static const struct wh_seat *mapped_page(const struct wh_turns *v, unsigned int i)
{
	return __atomic_load_n(&v->peer[i].page, __ATOMIC_ACQUIRE);
}

const struct wh_turn *wh_claim_next(struct wh_turns *v, unsigned int *i, int device)
{
	const struct wh_seat *page;

	for (; next_seat(v, i, device); ++*i) {
		page = page_of(v, *i);
		if (page)
			return &page->device[place(v, device)];
	}
	return NULL;
}

const struct wh_turn *wh_claim_next_mapped(const struct wh_turns *v, unsigned int *i, int device)
{
	const struct wh_seat *page;

	for (; next_seat(v, i, device); ++*i) {
		page = mapped_page(v, *i);
		if (page)
			return &page->device[place(v, device)];
	}
	return NULL;
}

/* --- Ranks -------------------------------------------------------------------------- */

static int class_of(const struct wh_turns *v, unsigned int i, int device)
{
	return wh_class_order(__atomic_load_n(&v->board->class[i][place(v, device)],
					      __ATOMIC_RELAXED));
}

struct wh_rank wh_claim_rank(const struct wh_turns *v, unsigned int i, int device)
{
	const struct wh_seat *page = mapped_page(v, i);

	return (struct wh_rank) {
		.bits = page ? __atomic_load_n(&page->rank[place(v, device)], __ATOMIC_RELAXED) : 0,
		.class = class_of(v, i, device),
	};
}

/*
 * Who has let quick ones go first for a whole turn claims the device as they do. So all agree that
 * it is next if it has waited longer.
 */
static uint8_t own_bits(const struct wh_session *s, int device)
{
	const struct wh_sm_device *d = &s->limits.sm->device[device];
	bool quick = d->yielded_tsc >= us(s, QUANTUM_US);

	return d->rank | (quick ? WH_RANK_QUICK : 0) | (d->deep ? WH_RANK_DEEP : 0);
}

struct wh_rank wh_claim_own_rank(const struct wh_session *s, int device)
{
	const struct wh_turns *v = s->limits.turns;

	return (struct wh_rank) {
		.bits = own_bits(s, device), .class = class_of(v, v->seat, device),
	};
}

int wh_rank_before(struct wh_rank a, struct wh_rank b)
{
	int more = a.class - b.class;

	if (!more)
		return !(a.bits & WH_RANK_SPARE) - !(b.bits & WH_RANK_SPARE);
	return (more > 0 ? b : a).bits & WH_RANK_LATE ? -more : more;
}

int wh_rank_next(struct wh_rank a, struct wh_rank b)
{
	int first = wh_rank_before(a, b);

	return first ? first : !!(a.bits & WH_RANK_QUICK) - !!(b.bits & WH_RANK_QUICK);
}

bool wh_rank_hurries(struct wh_rank r)
{
	return r.bits & WH_RANK_QUICK || !(r.bits & WH_RANK_DEEP);
}

bool wh_rank_together(struct wh_rank a, struct wh_rank b)
{
	return a.bits & b.bits & (WH_RANK_OPEN | WH_RANK_PEER) && a.class == b.class;
}

/*
 * Need we not wait until the other has stopped? It does so at once for a higher class. What its
 * work makes ours longer costs us nothing, as long as we have no ceiling.
 */
bool wh_rank_overtakes(const struct wh_sm_device *d, struct wh_rank mine, struct wh_rank other)
{
	return d->open && mine.class > other.class && wh_rank_before(mine, other) > 0;
}

/* The sum of the shares of all tenants that claim anything, and of our own; *n: how many are. */
static unsigned int sum_of_shares(struct wh_session *s, int device, uint64_t now, unsigned int *n)
{
	struct wh_turns *v = s->limits.turns;
	unsigned int sum = s->limits.limit[device].sm_percent, i;
	const struct wh_turn *t;

	for (i = 0, *n = 1; (t = wh_claim_next(v, &i, device)); i++)
		if (has_device(t, now) || waits(s, t, now)) {
			sum += percent_of(v, i, device);
			++*n;
		}
	return sum;
}

/* Returns the time between, as at most LONG_AGO_NS. */
static uint64_t ns_since(const struct wh_session *s, uint64_t from, uint64_t now)
{
	return (now - from) / s->tsc_per_us < LONG_AGO_NS / 1000 ?
	       (now - from) * 1000 / s->tsc_per_us : LONG_AGO_NS;
}

/*
 * Since when the claim of this seat costs it credit. In the normal case each look of the last
 * ASKED_US was at the same wait. Spare work comes and goes more often, so its wait counts from its
 * own begin, and who is within the guarantee gives spare work the time to stop.
 */
static uint64_t held_since(const struct wh_session *s, unsigned int seat, int device,
			   uint64_t now)
{
	uint64_t seen = s->limits.turns->peer[seat].credit[device].seen_tsc, from;
	bool theirs = wh_claim_rank(s->limits.turns, seat, device).bits & WH_RANK_SPARE;
	bool mine = wh_claim_own_rank(s, device).bits & WH_RANK_SPARE;
	const struct wh_turn *t = turn_of(s, device);

	if (!mine && !theirs)
		return seen;
	if (!load(&t->asked_tsc))
		return now;
	from = load(&t->waiting_tsc) + (mine ? 0 : us(s, STOP_US));
	return past(seen, from) ? from : seen;
}

/*
 * Returns by how much the seat's credit grows in so much time: by its share. In spare time all are
 * equal, and a part more may be lost at the beginning and end of each turn.
 */
static int64_t grown(struct wh_session *s, unsigned int seat, int device, uint64_t ns, uint64_t now)
{
	uint64_t percent = percent_of(s->limits.turns, seat, device), equal;
	unsigned int claims, sum = sum_of_shares(s, device, now, &claims);

	if (wh_claim_own_rank(s, device).bits & WH_RANK_SPARE) {
		percent += percent / 4 + 2;
		equal = 100 / claims;
		percent = percent > equal ? percent : equal;
	}
	return (int64_t)(ns * percent / (sum > 100 ? sum : 100));
}

/* Higher classes, which the server gives, go first whatever their credit, until we are late. */
static bool gives_way(const struct wh_session *s, unsigned int seat, int device)
{
	struct wh_rank mine = wh_claim_own_rank(s, device);

	return !(mine.bits & WH_RANK_LATE) && class_of(s->limits.turns, seat, device) > mine.class;
}

bool wh_claim_believe(struct wh_session *s, unsigned int seat, int device, uint64_t now)
{
	struct wh_turn_credit *c = &s->limits.turns->peer[seat].credit[device];
	uint64_t ns, from;

	if (gives_way(s, seat, device))
		return true;
	if (!c->seen_tsc) {
		c->ns = BURST_NS;
	} else if (past(c->seen_tsc, now)) {
		from = held_since(s, seat, device, now);
		ns = ns_since(s, c->seen_tsc, now);
		c->ns += grown(s, seat, device, ns, now);
		c->ns = c->ns < BURST_NS ? c->ns : BURST_NS;
		/* If the last look is long ago, that was another wait. */
		if (ns < ASKED_US * 1000 && past(from, now))
			c->ns -= (int64_t)ns_since(s, from, now);
		c->ns = c->ns > DEBT_NS ? c->ns : DEBT_NS;
	}
	c->seen_tsc = now;
	return c->ns > 0;
}

bool wh_claim_believed(const struct wh_session *s, unsigned int seat, int device)
{
	const struct wh_turn_credit *c = &s->limits.turns->peer[seat].credit[device];

	return !c->seen_tsc || c->ns > 0 || gives_way(s, seat, device);
}
