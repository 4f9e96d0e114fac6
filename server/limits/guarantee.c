// SPDX-License-Identifier: Apache-2.0
/*
 * Guarantee and ceiling of a share of time: how a launch claims the device, and what work costs
 * that others worked beside.
 *
 * A tenant whose ceiling is its guarantee is always within its guarantee when it launches, and
 * waits otherwise (bucket.c). With a higher ceiling it goes on beyond the guarantee, in time that
 * no tenant wants which is within its own. Without a ceiling it also lets others work beside it
 * that have none: while one is busy on its CPU, the device works for another. Then spans contain
 * the others' work. So work in company costs what as many launches took when the tenant was alone
 * on the device; this is also how far it got of what it would have got alone, which is what the
 * guarantee is of. The mean of launches that were measured alone is learned whenever the tenant
 * works alone, and by a short probe now and then. It has the pauses between launches of a row in
 * it, in which the device waits for the program.
 *
 * Tenants without a ceiling that are owed time stop those that are not. Programs among them that
 * leave pauses work beside each other. If each of them had the device alone in its turn, they would
 * together make no more than one does, and be owed time for ever. Those that fill the device have
 * it alone: to change between processes takes the device time.
 *
 * A program that makes its launches cheap while it is alone is charged too little in company. It
 * gets more of what is left then. The others still get their guarantee: by their own books, which
 * it cannot change, they are owed time, and have the device for themselves until they have it.
 */
#include "limits/bucket.h"
#include "limits/turns.h"

#define FIRM_NS		25000000ll	/* so much is owed before others have to stop */
#define PROBE_EVERY_US	2000000u
#define PROBE_NS	15e6		/* work of a probe */
#define PROBE_MOST_US	100000u		/* and its longest time */
#define KNOWN_NS	5e6		/* less work says nothing about the cost of launches */
#define LEARNED_NS	200e6		/* older work counts half */
#define BEFORE_PROBE_NS	15e6		/* a probe counts as much as all work before it */
#define GAP_NS		300e3		/* a longer pause is none between two launches of a row */
#define SLICES_NS	4e6		/* it may wait for so long until the device works for it */
#define LONGER_NS	40e6		/* so much of spans' length pays for later ones at most */

/* The most that a guarantee keeps of unused time. */
static int64_t most_kept(const struct wh_device_limit *l)
{
	return WH_SM_CAP_NS * l->sm_percent / 100;
}

/*
 * So much must be owed until the tenant stops others: it gives long turns, since a GPU takes a
 * while to work for another process (about 1 ms, as rates on an H200 suggest).
 */
static int64_t firm_level(const struct wh_device_limit *l)
{
	int64_t half = most_kept(l) / 2;

	return FIRM_NS < half ? FIRM_NS : half;
}

/*
 * Credit above what makes a tenant stop others fades within a second or so. Otherwise several that
 * come back with credit would take turns for ever, in each of which only one of them works.
 */
int64_t wh_rank_leak(const struct wh_device_limit *l, int64_t tokens, uint64_t ns)
{
	int64_t more = tokens - firm_level(l);

	if (wh_ceiling(l) < WH_SM_NO_CEILING || more <= 0)
		return 0;
	return ns < 1000000000 ? (int64_t)((double)more * (double)ns / 1e9) : more;
}

/* --- What launches cost alone ---------------------------------------------------------- */

static bool known(const struct wh_sm_device *d)
{
	return d->alone_launches > 0 && d->alone_ns >= KNOWN_NS;
}

static void scale(struct wh_sm_device *d, double most)
{
	if (d->alone_ns <= most)
		return;
	d->alone_launches *= most / d->alone_ns;
	d->pauses_ns *= most / d->alone_ns;
	d->alone_ns = most;
}

/*
 * Returns the part of a cost that the span and those before it cover. The device slices the time: a
 * span in which others had the device is long, and the next one, which has all of the device, may
 * be shorter than as many launches take alone. Only together are they as long as their cost.
 */
static double covered(struct wh_sm_device *d, double ns, double cost)
{
	double most = ns + d->longer_ns, longer;

	cost = cost < most ? cost : most;
	longer = most - cost;
	d->longer_ns = longer < LONGER_NS ? longer : LONGER_NS;
	return cost;
}

double wh_rank_cost(struct wh_sm_device *d, bool alone, double ns, uint32_t launches)
{
	double cost, least = alone ? ns / 2 : 0;

	if (!d->open)
		return ns;
	if (alone && d->warm) {
		d->alone_ns += ns;
		d->alone_launches += launches;
		d->probed_ns -= ns < d->probed_ns ? ns : d->probed_ns;
		if (d->alone_ns > LEARNED_NS)
			scale(d, LEARNED_NS / 2);
	}
	if (!known(d))
		return ns;
	cost = d->alone_ns / d->alone_launches * launches;
	return covered(d, ns, cost > least ? cost : least);
}

void wh_rank_gap(struct wh_sm_device *d, bool alone, double ns)
{
	if (!d->open || ns <= 0)
		return;
	/* In company it may have waited for its slice of the device. */
	d->longer_ns += ns < SLICES_NS ? ns : SLICES_NS;
	d->longer_ns = d->longer_ns < LONGER_NS ? d->longer_ns : LONGER_NS;
	if (!alone || !d->warm || d->alone_launches <= 0 || ns >= GAP_NS)
		return;
	d->alone_ns += ns;
	d->pauses_ns += ns;
	d->probed_ns -= ns < d->probed_ns ? ns : d->probed_ns;
}

/* Does the program alone leave so much of the device that others should work beside it? */
static bool leaves_pauses(const struct wh_sm_device *d)
{
	return known(d) && d->pauses_ns > d->alone_ns / 16;
}

/*
 * Does the program alone fill the device? Others beside it would take turns with it by the device's
 * own slices, which are short, and each change takes time. It is known of programs whose launches
 * wait in a deep ring: spans of others contain the pauses between their launches.
 */
static bool fills(const struct wh_sm_device *d)
{
	return d->deep && known(d) && !leaves_pauses(d);
}

/* True in one worker of the tenant at a time, so that probes stay rare however many there are. */
static bool may_probe(struct wh_session *s, int device, uint64_t now)
{
	uint64_t *word = &s->limits.usage->bucket[device].probed_tsc;
	uint64_t last = __atomic_load_n(word, __ATOMIC_RELAXED);

	return (!last || now - last > (uint64_t)PROBE_EVERY_US * s->tsc_per_us) &&
	       __atomic_compare_exchange_n(word, &last, now ? now : 1, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/*
 * Who is never alone on the device has it alone for a probe, within its guarantee as far as others
 * can tell.
 */
static bool probes(struct wh_session *s, struct wh_sm_device *d, int device)
{
	uint64_t now = s->limits.sm->entered;

	if (d->probed_ns > 0) {
		if (now - d->probe_tsc > (uint64_t)PROBE_MOST_US * s->tsc_per_us)
			d->probed_ns = 0;
		return d->probed_ns > 0;
	}
	if (!d->crowded || !may_probe(s, device, now))
		return false;
	scale(d, BEFORE_PROBE_NS);
	d->probed_ns = PROBE_NS;
	d->probe_tsc = now;
	return true;
}

/* --- Claims -------------------------------------------------------------------------------- */

/*
 * For how long others have held the tenant back beyond what its guarantee leaves them. A program
 * that is busy on its CPU does not use all of its guarantee, however seldom it waits.
 */
static double held_back(struct wh_session *s, struct wh_sm_device *d,
			const struct wh_device_limit *l)
{
	uint64_t now = s->limits.sm->entered, since = d->judged_tsc ? d->judged_tsc : now;
	double ns = (double)(int64_t)(now - since) * 1000.0 / s->tsc_per_us;
	double most = (double)most_kept(l);

	d->judged_tsc = now;
	d->held_ns += (d->refused ? ns : 0) - ns * (100 - l->sm_percent) / 100;
	d->held_ns = d->held_ns < 0 ? 0 : d->held_ns < most ? d->held_ns : most;
	return d->held_ns;
}

/* Lower classes that wait for half of what they can save up go first. */
static uint8_t late(struct wh_session *s, struct wh_sm_device *d, const struct wh_device_limit *l,
		    int64_t tokens)
{
	int64_t level = most_kept(l) / (d->rank & WH_RANK_LATE ? 4 : 2);
	double held = held_back(s, d, l);

	return tokens >= level && held >= (double)level ? WH_RANK_LATE : 0;
}

void wh_rank_choose(struct wh_session *s, int device, int64_t tokens)
{
	const struct wh_device_limit *l = &s->limits.limit[device];
	struct wh_sm_device *d = &s->limits.sm->device[device];
	uint8_t rank = 0;

	/* What was charged beyond the guarantee hardly made it owe, so it pays for nothing now. */
	if (d->open && wh_ceiling(l) < WH_SM_NO_CEILING)
		wh_busy_forget(d);
	d->open = wh_ceiling(l) >= WH_SM_NO_CEILING;
	d->firm = wh_ceiling(l) == l->sm_percent || tokens >= (d->firm ? 1 : firm_level(l));
	if (d->open && !d->firm)
		d->firm = probes(s, d, device);
	if (!d->firm)
		rank |= d->open && !fills(d) ? WH_RANK_SPARE | WH_RANK_OPEN : WH_RANK_SPARE;
	else if (d->open)
		rank |= d->probed_ns <= 0 && leaves_pauses(d) ? WH_RANK_LONG | WH_RANK_PEER :
								 WH_RANK_LONG;
	if (d->quick)
		rank |= WH_RANK_QUICK;
	d->rank = rank | late(s, d, l, tokens);
}
