/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long launches take, by their kind (kinds.c). A step of a training has launches of 3 us and of
 * 3 ms. By the mean of all, too many of the long ones would be under way, and too few of the short
 * ones. A client says which of its posted launches are alike (shm.h); of others the mean is all
 * that is known. It is a hint: a client that lies has a worse estimate of its own work.
 */
#ifndef WORMHOLE_KINDS_H
#define WORMHOLE_KINDS_H

#include <stdint.h>

#define WH_SM_KINDS	1024u	/* a power of two; two in one place take turns */
#define WH_SM_RECENT	1024u	/* launches of a stream whose kinds are remembered, likewise */

struct wh_sm_kind {
	uint32_t alike;		/* the client's number; 0: none, and its time is the mean's */
	uint32_t batch;		/* the last one that it was learned from, */
	uint16_t place;		/* and its place there */
	float ns;		/* 0: not known yet */
};

/* What is known of the launches of a device. */
struct wh_sm_kinds {
	uint64_t mean_ns;	/* of one launch; the latest ones count more */
	uint32_t batch;		/* number of the last batch of launches that was measured */
	struct wh_sm_kind kind[WH_SM_KINDS];
};

/* A sum of launches, of some of which only the mean is known. */
struct wh_sm_work {
	uint32_t unknown;
	double ns;		/* of the others */
};

/* The kinds of a stream's last launches; number n is at n % WH_SM_RECENT. */
struct wh_sm_recent {
	uint32_t launches;	/* free running */
	uint16_t kind[WH_SM_RECENT];
};

static inline double wh_work_ns(const struct wh_sm_kinds *k, const struct wh_sm_work *w)
{
	return w->ns + (double)k->mean_ns * w->unknown;
}

/* Returns the place of the kind of launches that the client says are alike. */
uint16_t wh_kind_of(struct wh_sm_kinds *k, uint32_t alike);
/* Returns how long such a launch takes. */
double wh_kind_ns(const struct wh_sm_kinds *k, uint16_t kind);
/* Notes a launch of that kind, and adds it to the sums. */
void wh_kind_launched(const struct wh_sm_kinds *k, uint16_t kind, struct wh_sm_recent *r,
		      struct wh_sm_work *a, struct wh_sm_work *b);
/* Takes launches off a sum. What rounding leaves when there are no more is dropped. */
void wh_work_done(struct wh_sm_work *of, const struct wh_sm_work *done, uint32_t left);
/* The launches of the stream from number `first` on have taken `ns` together. */
void wh_kinds_learn(struct wh_sm_kinds *k, const struct wh_sm_recent *r, uint32_t first,
		    uint32_t launches, double ns);

#endif
