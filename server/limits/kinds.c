// SPDX-License-Identifier: Apache-2.0
/*
 * How long launches of each kind take. A marker measures several launches together. A part of what
 * they took more or less than expected goes to the kinds among them: programs repeat launches,
 * and markers fall elsewhere each time.
 */
#include "limits/kinds.h"

#define PART		0.25	/* of a difference that is believed */
#define MOST		4.0	/* no time becomes so many times as long by one batch */

uint16_t wh_kind_of(struct wh_sm_kinds *k, uint32_t alike)
{
	struct wh_sm_kind *kind = &k->kind[alike % WH_SM_KINDS];

	if (kind->alike != alike)
		*kind = (struct wh_sm_kind) { .alike = alike };
	return (uint16_t)(kind - k->kind);
}

static double known_ns(const struct wh_sm_kinds *k, uint16_t kind)
{
	return k->kind[kind].alike ? (double)k->kind[kind].ns : 0;
}

double wh_kind_ns(const struct wh_sm_kinds *k, uint16_t kind)
{
	double ns = known_ns(k, kind);

	return ns > 0 ? ns : (double)k->mean_ns;
}

static void add(const struct wh_sm_kinds *k, uint16_t kind, struct wh_sm_work *w)
{
	double ns = known_ns(k, kind);

	w->ns += ns;
	w->unknown += ns <= 0;
}

void wh_kind_launched(const struct wh_sm_kinds *k, uint16_t kind, struct wh_sm_recent *r,
		      struct wh_sm_work *a, struct wh_sm_work *b)
{
	r->kind[r->launches++ % WH_SM_RECENT] = kind;
	add(k, kind, a);
	add(k, kind, b);
}

void wh_work_done(struct wh_sm_work *of, const struct wh_sm_work *done, uint32_t left)
{
	of->unknown -= done->unknown < of->unknown ? done->unknown : of->unknown;
	of->ns -= done->ns < of->ns ? done->ns : of->ns;
	if (!left)
		*of = (struct wh_sm_work) { 0 };
}

/* The kinds of a batch, and what all launches of each were expected to take. */
struct batch {
	unsigned int n;
	uint16_t kind[WH_SM_RECENT];
	float ns[WH_SM_RECENT];
};

static void sum_up(struct wh_sm_kinds *k, const struct wh_sm_recent *r, uint32_t first,
		   uint32_t launches, struct batch *b)
{
	uint32_t i;

	k->batch++;
	b->n = 0;
	for (i = 0; i < launches; i++) {
		uint16_t at = r->kind[(first + i) % WH_SM_RECENT];
		struct wh_sm_kind *kind = &k->kind[at];

		if (kind->batch != k->batch) {
			kind->batch = k->batch;
			kind->place = (uint16_t)b->n;
			b->kind[b->n] = at;
			b->ns[b->n++] = 0;
		}
		b->ns[kind->place] += (float)wh_kind_ns(k, at);
	}
}

/*
 * A step of least squares, of the logarithms of the times: the difference is rather of those kinds
 * that the batch was expected to be made of.
 */
static void correct(struct wh_sm_kinds *k, const struct batch *b, double ns)
{
	double sum = 0, squares = 0, by;
	unsigned int i;

	for (i = 0; i < b->n; i++) {
		sum += b->ns[i];
		squares += (double)b->ns[i] * b->ns[i];
	}
	for (i = 0; i < b->n && squares > 0; i++) {
		struct wh_sm_kind *kind = &k->kind[b->kind[i]];

		by = (ns - sum) * b->ns[i] / squares;
		/* Of a new one nothing is known but the mean, which says little. */
		by = kind->ns > 0 ? 1 + PART * by : 1 + by;
		by = by > MOST ? MOST : by < 1 / MOST ? 1 / MOST : by;
		if (kind->alike)
			kind->ns = (float)(wh_kind_ns(k, b->kind[i]) * by);
	}
}

void wh_kinds_learn(struct wh_sm_kinds *k, const struct wh_sm_recent *r, uint32_t first,
		    uint32_t launches, double ns)
{
	struct batch b;

	if (!launches)
		return;
	k->mean_ns = (k->mean_ns * 7 + (uint64_t)(ns / launches)) / 8;
	if (launches > WH_SM_RECENT || r->launches - first > WH_SM_RECENT)
		return;
	sum_up(k, r, first, launches, &b);
	correct(k, &b, ns);
}
