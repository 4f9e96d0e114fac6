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
 * it. Nobody can write another tenant's seat. What a seat says is a claim (claims.c).
 */
#include "limits/claims.h"

#define LONG_QUANTUM_US	120000u		/* of one whose program has prepared it, among such */
#define QUICK_US	20000u		/* a turn that ends by itself so soon is a quick one */
#define SLACK_US	2000u		/* more than the holder's work should take */
#define RENEW_US	20u		/* the claim is renewed at most this often */
#define WARM_US		4000u		/* until then work is slower after a change of processes */
#define LOOK_US		1000u		/* while nobody claims with a rank, look at this */
#define RECENT_US	1000000u	/* who was there within this time may come again */

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
	uint64_t work_us = (uint64_t)(wh_work_ns(&d->kinds, &d->work) +
				      (double)d->kinds.mean_ns) / 500;

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

/* --- Who has the device, and who is next ------------------------------------------- */

/* We wait, and this one has the device. Counts its time since the last look if it is quick. */
static void yield_to(struct wh_session *s, int device, const struct wh_turn *other,
		     struct wh_rank rank, uint64_t now)
{
	uint64_t asked = load(&turn_of(s, device)->asked_tsc), since = load(&other->since_tsc);

	if (!(rank.bits & WH_RANK_QUICK) || wh_rank_before(rank, wh_claim_own_rank(s, device)) ||
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
	struct wh_rank mine = wh_claim_own_rank(s, device), rank;
	const struct wh_turn *t;
	unsigned int i;
	int first;

	for (i = 0; (t = wh_claim_next(v, &i, device)); i++) {
		rank = wh_claim_rank(v, i, device);
		if (!has_device(t, now) || wh_rank_together(mine, rank) ||
		    wh_rank_overtakes(d, mine, rank))
			continue;
		first = since ? wh_rank_before(rank, mine) : 1;
		if ((first > 0 ||
		     (!first && earlier(load(&t->since_tsc), i, since, v->seat))) &&
		    wh_claim_believe(s, i, device, now)) {
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
	struct wh_rank mine = wh_claim_own_rank(s, device), rank;
	struct wh_turns *v = s->limits.turns;
	const struct wh_turn *t;
	unsigned int i;
	int first;

	for (i = 0; (t = wh_claim_next(v, &i, device)); i++) {
		rank = wh_claim_rank(v, i, device);
		first = wh_rank_next(rank, mine);
		if (!has_device(t, now) && waits(s, t, now) && !wh_rank_together(mine, rank) &&
		    (first > 0 ||
		     (!first && earlier(load(&t->waiting_tsc), i, waiting, v->seat))) &&
		    wh_claim_believe(s, i, device, now))
			return true;
	}
	return false;
}

static bool wanted_by_others(struct wh_session *s, int device, uint64_t now)
{
	struct wh_rank mine = wh_claim_own_rank(s, device), rank;
	struct wh_turns *v = s->limits.turns;
	const struct wh_turn *t;
	unsigned int i;

	for (i = 0; (t = wh_claim_next(v, &i, device)); i++) {
		rank = wh_claim_rank(v, i, device);
		if (waits(s, t, now) && !wh_rank_together(mine, rank) &&
		    wh_rank_before(mine, rank) <= 0 && wh_claim_believed(s, i, device))
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
	struct wh_rank mine = wh_claim_own_rank(s, device), rank;
	struct wh_turns *v = s->limits.turns;
	const struct wh_turn *t;
	uint64_t others = 0;
	unsigned int i;
	bool spare = mine.bits & WH_RANK_SPARE;

	d->ranked = spare;
	d->overtaken = d->brief = d->crowded = d->guarded = false;
	d->hurried = wanted(s, turn_of(s, device), now);
	for (i = 0; (t = wh_claim_next(v, &i, device)); i++) {
		rank = wh_claim_rank(v, i, device);
		d->ranked |= rank.bits & WH_RANK_SPARE || rank.class != mine.class;
		d->crowded |= has_device(t, now);
		/* Who only waits renews its claim, too. */
		others += waits(s, t, now) ? 0 : load(&t->renewed_tsc);
		if (!wh_claim_believed(s, i, device))
			continue;
		d->hurried |= wh_rank_hurries(rank) && waits(s, t, now) &&
			      wh_rank_before(mine, rank) <= 0;
		d->brief |= rank.class > mine.class && is_recent(s, t, now);
		d->guarded |= spare && !(rank.bits & (WH_RANK_SPARE | WH_RANK_LONG)) &&
			      is_recent(s, t, now);
		d->overtaken |= (has_device(t, now) || waits(s, t, now)) &&
				!wh_rank_together(mine, rank) && wh_rank_before(rank, mine) > 0;
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
	uint8_t *word = &v->own->rank[place(v, device)], had, rank;

	rank = wh_claim_own_rank(s, device).bits;
	had = __atomic_load_n(word, __ATOMIC_RELAXED);

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

/* Does another tenant wait? `first`: one that goes first. */
static bool waited_for(const struct wh_session *s, int device, bool first, uint64_t now)
{
	const struct wh_turns *v = s->limits.turns;
	const struct wh_turn *t;
	unsigned int i;

	for (i = 0; (t = wh_claim_next_mapped(v, &i, device)); i++)
		if (waits(s, t, now) &&
		    (!first || wh_rank_before(wh_claim_rank(v, i, device),
					      wh_claim_own_rank(s, device)) > 0))
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
	struct wh_rank mine, rank;
	const struct wh_turn *t;
	uint64_t now = WH_TSC();
	unsigned int i;

	if (!turn_of(s, device) || !wh_turn_held(s, device))
		return false;
	mine = wh_claim_own_rank(s, device);
	for (i = 0; (t = wh_claim_next_mapped(v, &i, device)); i++) {
		rank = wh_claim_rank(v, i, device);
		/* It may be busy with its work, and stop for us. */
		if ((waits(s, t, now) || has_device(t, now)) && wh_rank_before(mine, rank) > 0 &&
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
