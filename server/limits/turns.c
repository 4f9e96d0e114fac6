// SPDX-License-Identifier: Apache-2.0
/*
 * Turns: which worker may put work on a device now, of those with a share of its time.
 *
 * Two processes that work at the same time are time-sliced by the device, and the spans of each
 * contain the other's work (measured on an H200: two at 46 % each both see 88 %). To attribute the
 * overlap, one would need to know how the device slices. So they take turns. One worker has the
 * device while it has work there, for QUANTUM at a time if others wait, and passes it on when its
 * work is done. Then no span contains work of another tenant, except of tenants without a temporal
 * limit, who take no turns.
 *
 * The workers of one tenant pass a turn among them in the words of their own seat, and trust each
 * other with it. Each tenant says in its seat that it has the device, or since when it waits for
 * it. The one that waits longest is next; of two that took the device at once, the earlier one has
 * it. Nobody can write another tenant's seat.
 *
 * A seat is only a claim, by a worker in which any program's code may run by now. So each worker
 * keeps a credit for each other tenant. The time for which that tenant holds it up is taken off.
 * The tenant's share of the time that passes is added, by the board, which only the server writes.
 * Beyond the credit a claim is not believed, and the worker that waits goes on. So a lie costs
 * others what the liar might have used honestly, and one burst. An honest tenant whose work takes
 * longer than its credit loses accuracy: its measured time is too long, never too short.
 */
#include "limits/bucket.h"
#include "limits/turns.h"

#define QUANTUM_US	40000u		/* length of a turn that others wait for */
#define LONG_QUANTUM_US	120000u		/* of one whose program has prepared it, among such */
#define QUICK_US	20000u		/* a turn that ends by itself so soon is a quick one */
#define ASKED_US	10000u		/* without a new question by then, nobody waits */
#define SLACK_US	2000u		/* more than the holder's work should take */
#define RENEW_US	20u		/* the claim is renewed at most this often */
#define STOP_US		2000u		/* spare work may take so long to stop */
#define WARM_US		4000u		/* until then work is slower after a change of processes */
#define LOOK_US		1000u		/* while nobody claims with a rank, look at this */
#define RECENT_US	1000000u	/* who was there within this time may come again */
#define BURST_NS	500000000ll	/* so much may a tenant hold others up besides its share */
#define DEBT_NS		(-50000000ll)	/* the lowest credit, so that belief soon comes back */
#define LONG_AGO_NS	10000000000ull	/* a longer time counts as this long */

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static void store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

static bool past(uint64_t tsc, uint64_t now)
{
	return (int64_t)(now - tsc) > 0;
}

static uint64_t us(const struct wh_session *s, uint64_t n)
{
	return n * s->tsc_per_us;
}

/* Board and seats go by the server's numbers of devices, all else by the worker's. */
static unsigned int place(const struct wh_turns *v, int device)
{
	return wh_device_place(v->limits, (unsigned int)device);
}

static struct wh_turn *turn_of(const struct wh_session *s, int device)
{
	struct wh_turns *v = s->limits.turns;

	return v ? &v->own->device[place(v, device)] : NULL;
}

static struct wh_sm_device *device_of(struct wh_session *s, int device)
{
	return &s->limits.sm->device[device];
}

/*
 * Work is slower for some time after each change of processes. So turns are long, unless somebody
 * waits who needs the device for short. Programs whose launches cannot wait in the worker lose time
 * of their own by long turns of others, and have none. The same holds for another worker of the
 * tenant that waits: it does not say of which kind it is.
 */
static uint64_t quantum_us(const struct wh_sm_device *d)
{
	return d->deep && !d->hurried ? LONG_QUANTUM_US : QUANTUM_US;
}

/* --- Within the tenant ------------------------------------------------------------ */

/* Another worker of the tenant has asked for the device and still waits. */
static bool wanted(const struct wh_session *s, const struct wh_turn *t, uint64_t now)
{
	uint64_t next = load(&t->next);

	return next && next != s->limits.turn_id &&
	       !past(load(&t->next_tsc) + us(s, ASKED_US), now);
}

static void ask(const struct wh_session *s, struct wh_turn *t, uint64_t now)
{
	uint64_t next = load(&t->next);

	if (next != s->limits.turn_id &&
	    (wanted(s, t, now) ||
	     !__atomic_compare_exchange_n(&t->next, &next, s->limits.turn_id, false,
					  __ATOMIC_RELAXED, __ATOMIC_RELAXED)))
		return;
	store(&t->next_tsc, now);
}

/*
 * Says when the turn should be over: when its quantum ends, or when the time in the bucket, which
 * meanwhile fills, is used up, but not before the work under way. Others sleep until shortly before
 * that time.
 */
static void foretell(struct wh_session *s, struct wh_turn *t, int device, uint64_t now,
		     double work_ns)
{
	struct wh_sm_device *d = device_of(s, device);
	unsigned int percent = s->limits.limit[device].sm_percent;
	int64_t tokens = __atomic_load_n(&s->limits.usage->bucket[device].tokens_ns,
					 __ATOMIC_RELAXED);
	int64_t turn_us = (int64_t)quantum_us(d) -
			  (int64_t)(now - d->acquired_tsc) / (int64_t)s->tsc_per_us;
	int64_t time_us = tokens > 0 ? tokens / 10 / (100 - (percent < 100 ? percent : 99)) : 0;
	int64_t left = turn_us < time_us ? turn_us : time_us;

	left = work_ns > 0 && (double)left < work_ns / 1000 ? (int64_t)(work_ns / 1000) : left;
	/* Spare work ends when somebody wants the device, and others do not know when. */
	store(&t->ending_tsc, d->rank & WH_RANK_SPARE ? 0 :
			      now + us(s, left > 0 ? (uint64_t)left : 0));
}

/* Says until when others are asked to wait: as long as the work should take. */
static void renew(struct wh_session *s, struct wh_turn *t, struct wh_sm_device *d, uint64_t now)
{
	uint64_t work_us = d->est_ns * (d->outstanding + 1) / 500;

	if (now - d->renewed_tsc < us(s, RENEW_US))
		return;
	d->renewed_tsc = now;
	store(&t->renewed_tsc, now + us(s, SLACK_US + work_us));
	if (load(&t->since_tsc))
		foretell(s, t, (int)(d - s->limits.sm->device), now, 0);
}

/* Takes the turn within the tenant. The old holder does not count as having the device any more. */
static bool seize(const struct wh_session *s, struct wh_turn *t, struct wh_sm_device *d,
		  uint64_t holder)
{
	if (!__atomic_compare_exchange_n(&t->holder, &holder, s->limits.turn_id, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	store(&t->since_tsc, 0);
	store(&t->ending_tsc, 0);
	if (load(&t->next) == s->limits.turn_id)
		store(&t->next, 0);
	d->renewed_tsc = 0;
	return true;
}

/* --- Claims of other tenants --------------------------------------------------------- */

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

static unsigned int percent_of(const struct wh_turns *v, unsigned int i, int device)
{
	return __atomic_load_n(&v->board->seat[i].percent[place(v, device)], __ATOMIC_RELAXED);
}

/*
 * Returns the claim of the next seat from *i on whose tenant takes turns on the device; NULL: there
 * is none.
 */
static const struct wh_turn *next_claim(struct wh_turns *v, unsigned int *i, int device)
{
	unsigned int top = __atomic_load_n(&v->board->top, __ATOMIC_ACQUIRE);
	const struct wh_seat *page;

	for (top = top < WH_SEATS ? top : WH_SEATS; *i < top; ++*i) {
		page = *i != v->seat && percent_of(v, *i, device) ? page_of(v, *i) : NULL;
		if (page)
			return &page->device[place(v, device)];
	}
	return NULL;
}

static bool has_device(const struct wh_turn *t, uint64_t now)
{
	return load(&t->since_tsc) && !past(load(&t->renewed_tsc), now);
}

static bool waits(const struct wh_session *s, const struct wh_turn *t, uint64_t now)
{
	uint64_t asked = load(&t->asked_tsc);

	return asked && !past(asked + us(s, ASKED_US), now);
}

/* --- Ranks -------------------------------------------------------------------------- */

/* A claim's bits are the tenant's own word, but its class is the server's. */
struct rank {
	uint8_t bits;		/* WH_RANK_* */
	int class;		/* below 0: low */
};

static int class_of(const struct wh_turns *v, unsigned int i, int device)
{
	return wh_class_order(__atomic_load_n(&v->board->class[i][place(v, device)],
					      __ATOMIC_RELAXED));
}

/* Of a seat whose page is mapped. */
static struct rank rank_of(const struct wh_turns *v, unsigned int i, int device)
{
	const struct wh_seat *page = __atomic_load_n(&v->peer[i].page, __ATOMIC_ACQUIRE);

	return (struct rank) {
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

static struct rank own_rank(const struct wh_session *s, int device)
{
	const struct wh_turns *v = s->limits.turns;

	return (struct rank) {
		.bits = own_bits(s, device), .class = class_of(v, v->seat, device),
	};
}

/*
 * Who goes first, if not who waits longer? Above 0: the former. A higher class does, unless the
 * lower one is late. In a class those do who are within their guarantee.
 */
static int before(struct rank a, struct rank b)
{
	int more = a.class - b.class;

	if (!more)
		return !(a.bits & WH_RANK_SPARE) - !(b.bits & WH_RANK_SPARE);
	return (more > 0 ? b : a).bits & WH_RANK_LATE ? -more : more;
}

/* The same of those who wait: who has quick turns need not wait for several long ones. */
static int next_before(struct rank a, struct rank b)
{
	int first = before(a, b);

	return first ? first : !!(a.bits & WH_RANK_QUICK) - !!(b.bits & WH_RANK_QUICK);
}

/* Who waits does not want to wait for a long turn. */
static bool hurries(struct rank r)
{
	return r.bits & WH_RANK_QUICK || !(r.bits & WH_RANK_DEEP);
}

/* May both work at the same time? All who are within their guarantee, or all who are beyond it. */
static bool together(struct rank a, struct rank b)
{
	return a.bits & b.bits & (WH_RANK_OPEN | WH_RANK_PEER) && a.class == b.class;
}

/*
 * Need we not wait until the other has stopped? It does so at once for a higher class. What its
 * work makes ours longer costs us nothing, as long as we have no ceiling.
 */
static bool overtakes(const struct wh_sm_device *d, struct rank mine, struct rank other)
{
	return d->open && mine.class > other.class && before(mine, other) > 0;
}

/* The sum of the shares of all tenants that claim anything, and of our own; *n: how many are. */
static unsigned int sum_of_shares(struct wh_session *s, int device, uint64_t now, unsigned int *n)
{
	struct wh_turns *v = s->limits.turns;
	unsigned int sum = s->limits.limit[device].sm_percent, i;
	const struct wh_turn *t;

	for (i = 0, *n = 1; (t = next_claim(v, &i, device)); i++)
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
	bool theirs = rank_of(s->limits.turns, seat, device).bits & WH_RANK_SPARE;
	bool mine = own_rank(s, device).bits & WH_RANK_SPARE;
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

	if (own_rank(s, device).bits & WH_RANK_SPARE) {
		percent += percent / 4 + 2;
		equal = 100 / claims;
		percent = percent > equal ? percent : equal;
	}
	return (int64_t)(ns * percent / (sum > 100 ? sum : 100));
}

/* Higher classes, which the server gives, go first whatever their credit, until we are late. */
static bool gives_way(const struct wh_session *s, unsigned int seat, int device)
{
	struct rank mine = own_rank(s, device);

	return !(mine.bits & WH_RANK_LATE) && class_of(s->limits.turns, seat, device) > mine.class;
}

/*
 * The claim of this seat holds us up: is it to be believed? The time since the last look is paid
 * from the seat's credit, which fills with the tenant's share.
 */
static bool believe(struct wh_session *s, unsigned int seat, int device, uint64_t now)
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

static bool believed(const struct wh_session *s, unsigned int seat, int device)
{
	const struct wh_turn_credit *c = &s->limits.turns->peer[seat].credit[device];

	return !c->seen_tsc || c->ns > 0 || gives_way(s, seat, device);
}

/* We wait, and this one has the device. Counts its time since the last look if it is quick. */
static void yield_to(struct wh_session *s, int device, const struct wh_turn *other,
		     struct rank rank, uint64_t now)
{
	uint64_t asked = load(&turn_of(s, device)->asked_tsc), since = load(&other->since_tsc);

	if (!(rank.bits & WH_RANK_QUICK) || before(rank, own_rank(s, device)) ||
	    !waits(s, turn_of(s, device), now))
		return;
	since = past(asked, since) ? since : asked;
	device_of(s, device)->yielded_tsc += past(since, now) ? now - since : 0;
}

static bool earlier(uint64_t tsc, unsigned int seat, uint64_t mine, unsigned int my_seat)
{
	return tsc != mine ? past(tsc, mine) : seat < my_seat;
}

/*
 * Another tenant has the device. `since`: our own time of taking it; of two the earlier one counts.
 */
static bool taken(struct wh_session *s, int device, uint64_t since, uint64_t now)
{
	struct wh_sm_device *d = device_of(s, device);
	struct wh_turns *v = s->limits.turns;
	struct rank mine = own_rank(s, device), rank;
	const struct wh_turn *t;
	unsigned int i;
	int first;

	for (i = 0; (t = next_claim(v, &i, device)); i++) {
		rank = rank_of(v, i, device);
		if (!has_device(t, now) || together(mine, rank) || overtakes(d, mine, rank))
			continue;
		first = since ? before(rank, mine) : 1;
		if ((first > 0 ||
		     (!first && earlier(load(&t->since_tsc), i, since, v->seat))) &&
		    believe(s, i, device, now)) {
			d->ending_tsc = load(&t->ending_tsc);
			d->held_by = t;
			yield_to(s, device, t, rank, now);
			return true;
		}
	}
	return false;
}

/* Another tenant waits for the device, and has waited longer than we have, or goes first. */
static bool others_first(struct wh_session *s, int device, uint64_t waiting, uint64_t now)
{
	struct rank mine = own_rank(s, device), rank;
	struct wh_turns *v = s->limits.turns;
	const struct wh_turn *t;
	unsigned int i;
	int first;

	for (i = 0; (t = next_claim(v, &i, device)); i++) {
		rank = rank_of(v, i, device);
		first = next_before(rank, mine);
		if (!has_device(t, now) && waits(s, t, now) && !together(mine, rank) &&
		    (first > 0 ||
		     (!first && earlier(load(&t->waiting_tsc), i, waiting, v->seat))) &&
		    believe(s, i, device, now))
			return true;
	}
	return false;
}

static bool wanted_by_others(struct wh_session *s, int device, uint64_t now)
{
	struct rank mine = own_rank(s, device), rank;
	struct wh_turns *v = s->limits.turns;
	const struct wh_turn *t;
	unsigned int i;

	for (i = 0; (t = next_claim(v, &i, device)); i++) {
		rank = rank_of(v, i, device);
		if (waits(s, t, now) && !together(mine, rank) && before(mine, rank) <= 0 &&
		    believed(s, i, device))
			return true;
	}
	return false;
}

static bool is_recent(const struct wh_session *s, const struct wh_turn *t, uint64_t now)
{
	return load(&t->renewed_tsc) && !past(load(&t->renewed_tsc) + us(s, RECENT_US), now);
}

/*
 * Looks at the others' claims while this worker has the device: does anybody go first, does anybody
 * work beside it, may a higher class come at any time?
 */
static void look_around(struct wh_session *s, int device, uint64_t now)
{
	struct wh_sm_device *d = device_of(s, device);
	struct rank mine = own_rank(s, device), rank;
	struct wh_turns *v = s->limits.turns;
	const struct wh_turn *t;
	uint64_t others = 0;
	unsigned int i;
	bool spare = mine.bits & WH_RANK_SPARE;

	d->ranked = spare;
	d->overtaken = d->brief = d->crowded = d->guarded = false;
	d->hurried = wanted(s, turn_of(s, device), now);
	for (i = 0; (t = next_claim(v, &i, device)); i++) {
		rank = rank_of(v, i, device);
		d->ranked |= rank.bits & WH_RANK_SPARE || rank.class != mine.class;
		d->crowded |= has_device(t, now);
		/* Who only waits renews its claim, too. */
		others += waits(s, t, now) ? 0 : load(&t->renewed_tsc);
		if (!believed(s, i, device))
			continue;
		d->hurried |= hurries(rank) && waits(s, t, now) && before(mine, rank) <= 0;
		d->brief |= rank.class > mine.class && is_recent(s, t, now);
		d->guarded |= spare && !(rank.bits & (WH_RANK_SPARE | WH_RANK_LONG)) &&
			      is_recent(s, t, now);
		d->overtaken |= (has_device(t, now) || waits(s, t, now)) &&
				!together(mine, rank) && before(rank, mine) > 0;
	}
	/* Who is late does not give way. */
	d->brief &= !(mine.bits & WH_RANK_LATE);
	d->company += d->crowded;
	/* A turn that was given up in a pause goes on if nobody took the device meanwhile. */
	if (d->crowded || others != d->others)
		d->others_tsc = now;
	d->others = others;
	d->warm = now - d->others_tsc >= us(s, WARM_US);
}

void wh_turn_look(struct wh_session *s, int device)
{
	if (wh_turn_held(s, device) && s->limits.turns)
		look_around(s, device, WH_TSC());
}

/* --- The tenant's own claim ------------------------------------------------------------- */

/*
 * Publishes how this worker claims the device. If it shared the device and wants it for itself now,
 * it claims it anew.
 */
static void publish(struct wh_session *s, struct wh_turn *t, int device)
{
	struct wh_turns *v = s->limits.turns;
	uint8_t *word = &v->own->rank[place(v, device)], rank = own_bits(s, device);
	uint8_t had = __atomic_load_n(word, __ATOMIC_RELAXED);

	if (had == rank)
		return;
	if (had & ~rank & (WH_RANK_OPEN | WH_RANK_PEER))
		store(&t->since_tsc, 0);
	__atomic_store_n(word, rank, __ATOMIC_RELEASE);
}

static void wait_on(struct wh_session *s, struct wh_turn *t, int device, uint64_t now)
{
	if (!waits(s, t, now)) {
		store(&t->waiting_tsc, now);
		device_of(s, device)->yielded_tsc = 0;
	}
	store(&t->asked_tsc, now);
}

/* This worker has the tenant's turn. Now it claims the device against the other tenants. */
static bool take(struct wh_session *s, struct wh_turn *t, int device, uint64_t now)
{
	struct wh_sm_device *d = device_of(s, device);
	uint64_t since = now ? now : 1;

	d->ending_tsc = 0;
	d->held_by = NULL;
	d->overtaken = false;
	if (taken(s, device, 0, now) ||
	    others_first(s, device, waits(s, t, now) ? load(&t->waiting_tsc) : now, now)) {
		wait_on(s, t, device, now);
		return false;
	}
	__atomic_store_n(&t->since_tsc, since, __ATOMIC_SEQ_CST);
	if (taken(s, device, since, now)) {
		store(&t->since_tsc, 0);
		wait_on(s, t, device, now);
		return false;
	}
	store(&t->asked_tsc, 0);
	d->acquired_tsc = d->looked_tsc = now;
	d->contested = false;
	d->yielded_tsc = 0;
	publish(s, t, device);
	look_around(s, device, now);
	return true;
}

bool wh_turn_hold(struct wh_session *s, int device)
{
	struct wh_turn *t = turn_of(s, device);
	struct wh_sm_device *d = device_of(s, device);
	uint64_t holder, now;
	bool quantum;

	if (!t)
		return true;
	now = WH_TSC();
	holder = __atomic_load_n(&t->holder, __ATOMIC_ACQUIRE);
	if (holder != s->limits.turn_id &&
	    (!(holder ? past(load(&t->renewed_tsc), now) : !wanted(s, t, now)) ||
	     !seize(s, t, d, holder))) {
		d->ending_tsc = holder ? load(&t->ending_tsc) : 0;
		ask(s, t, now);
		return false;
	}
	/*
	 * A worker that was away for longer than others were asked to wait claims the device anew.
	 */
	if (past(load(&t->renewed_tsc), now))
		store(&t->since_tsc, 0);
	d->deep = wh_self.deep;
	publish(s, t, device);
	renew(s, t, d, now);
	if (!load(&t->since_tsc))
		return take(s, t, device, now);
	quantum = now - d->acquired_tsc < us(s, quantum_us(d));
	if (now - d->looked_tsc >= us(s, quantum && !d->ranked ? LOOK_US : RENEW_US)) {
		d->looked_tsc = now;
		look_around(s, device, now);
		d->contested = !quantum && wh_turn_contested(s, device);
	}
	if (!d->overtaken && !d->contested)
		return true;
	/* The turn is over: the next one gets the device when the work under way is done. */
	if (!d->outstanding)
		wh_turn_release(s, device);
	return false;
}

bool wh_turn_held(const struct wh_session *s, int device)
{
	const struct wh_turn *t = turn_of(s, device);

	return !t || (load(&t->holder) == s->limits.turn_id && has_device(t, WH_TSC()));
}

bool wh_turn_contested(struct wh_session *s, int device)
{
	const struct wh_turn *t = turn_of(s, device);
	uint64_t now = WH_TSC();

	return t && (wanted(s, t, now) || wanted_by_others(s, device, now));
}

/* As next_claim(), and maps nothing: a page that is being mapped just now is seen the next time. */
static const struct wh_turn *next_mapped(const struct wh_turns *v, unsigned int *i, int device)
{
	unsigned int top = __atomic_load_n(&v->board->top, __ATOMIC_ACQUIRE);
	const struct wh_seat *page;

	for (; *i < top && *i < WH_SEATS; ++*i) {
		page = *i != v->seat && percent_of(v, *i, device) ?
		       __atomic_load_n(&v->peer[*i].page, __ATOMIC_ACQUIRE) : NULL;
		if (page)
			return &page->device[place(v, device)];
	}
	return NULL;
}

/* Does another tenant wait? `first`: one that goes first. */
static bool waited_for(const struct wh_session *s, int device, bool first, uint64_t now)
{
	const struct wh_turns *v = s->limits.turns;
	const struct wh_turn *t;
	unsigned int i;

	for (i = 0; (t = next_mapped(v, &i, device)); i++)
		if (waits(s, t, now) &&
		    (!first || before(rank_of(v, i, device), own_rank(s, device)) > 0))
			return true;
	return false;
}

bool wh_turn_awaited(const struct wh_session *s, int device)
{
	const struct wh_turn *t = turn_of(s, device);
	uint64_t now = WH_TSC();

	return t && (wanted(s, t, now) || waited_for(s, device, false, now));
}

bool wh_turn_owed(const struct wh_session *s, int device)
{
	return turn_of(s, device) && waited_for(s, device, true, WH_TSC());
}

bool wh_turn_above(const struct wh_session *s, int device)
{
	const struct wh_turns *v = s->limits.turns;
	struct rank mine, rank;
	const struct wh_turn *t;
	uint64_t now = WH_TSC();
	unsigned int i;

	if (!turn_of(s, device) || !wh_turn_held(s, device))
		return false;
	mine = own_rank(s, device);
	for (i = 0; (t = next_mapped(v, &i, device)); i++) {
		rank = rank_of(v, i, device);
		/* It may be busy with its work, and stop for us. */
		if ((waits(s, t, now) || has_device(t, now)) && before(mine, rank) > 0 &&
		    (rank.class < mine.class || mine.bits & WH_RANK_LONG))
			return true;
	}
	return false;
}

/*
 * The work takes longer than expected. Tells others when it should be done, so that they ask in
 * time.
 */
void wh_turn_keep(struct wh_session *s, int device, double left_ns)
{
	struct wh_turn *t = turn_of(s, device);
	uint64_t now = WH_TSC();

	if (!t || load(&t->holder) != s->limits.turn_id)
		return;
	renew(s, t, device_of(s, device), now);
	foretell(s, t, device, now, left_ns);
}

/* Wakes those who sleep on the word (wh_sm_hold()). Only our own mapping of it is writable. */
static void wake(const uint64_t *word)
{
	WH_FUTEX_WAKE((const uint32_t *)word);
}

/*
 * Was the turn over because its work was done, and soon? Others' turns are short for such. A turn
 * that its bucket ended says nothing of its work.
 */
static void note_turn(struct wh_session *s, const struct wh_turn *t, int device)
{
	struct wh_sm_device *d = device_of(s, device);

	if (load(&t->since_tsc))
		d->quick = !d->throttled && !d->contested && !d->overtaken &&
			   WH_TSC() - d->acquired_tsc < us(s, QUICK_US);
}

void wh_turn_release(struct wh_session *s, int device)
{
	struct wh_turn *t = turn_of(s, device);
	uint64_t me = s->limits.turn_id;
	bool awaited;

	if (!t || load(&t->holder) != me)
		return;
	note_turn(s, t, device);
	awaited = wh_turn_awaited(s, device);
	store(&t->ending_tsc, 0);
	store(&t->since_tsc, 0);
	__atomic_compare_exchange_n(&t->holder, &me, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	if (!awaited)
		return;
	wake(&t->since_tsc);
	wake(&t->holder);
}

/* Returns the word of the own tenant's holder, or of the tenant whose claim was believed last. */
const uint32_t *wh_turn_word(const struct wh_session *s, int device, uint32_t *seen)
{
	const struct wh_turn *t = turn_of(s, device), *other;
	const struct wh_sm_device *d = &s->limits.sm->device[device];
	const uint64_t *word;

	if (!t)
		return NULL;
	word = &t->holder;
	if (load(word) == s->limits.turn_id) {
		other = d->held_by;
		if (!other)
			return NULL;
		word = &other->since_tsc;
	}
	*seen = (uint32_t)load(word);
	/* If the turn has ended meanwhile, there is nothing to wait for. */
	return load(word) ? (const uint32_t *)word : NULL;
}

uint64_t wh_turn_ending(const struct wh_session *s, int device)
{
	return s->limits.sm->device[device].ending_tsc;
}
