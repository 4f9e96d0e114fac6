/* SPDX-License-Identifier: Apache-2.0 */
/* Turns on a device (turns.c), for bucket.c; also what join.c maps for them. */
#ifndef WORMHOLE_TURNS_H
#define WORMHOLE_TURNS_H

#include "limits/charge.h"
#include "limits/limits.h"

/* How long another tenant's claims are still believed, on one device. */
struct wh_turn_credit {
	int64_t ns;
	uint64_t seen_tsc;	/* when its claims last held us up; 0: never */
};

struct wh_turn_peer {
	uint64_t tenant_id;	/* owner of the page; 0: none was looked for */
	const struct wh_seat *page;	/* NULL: it does not exist */
	const struct wh_seat *before;	/* the seat's previous page; NULL: none */
	struct wh_turn_credit credit[WH_TENANT_DEVICES];
};

struct wh_turns {
	int dir;		/* folder of the seats' files */
	const struct wh_board *board;
	struct wh_seat *own;
	unsigned int seat;
	const struct wh_tenant_limits *limits;	/* for the places of devices */
	struct wh_turn_peer peer[WH_SEATS];
};

/* join.c: maps the seat's page of a tenant, NULL when there is none; and unmaps it. */
const struct wh_seat *wh_turn_map(struct wh_turns *v, uint64_t tenant_id);
void wh_turn_unmap(const struct wh_seat *page);

/* May this worker put work on the device now? The call itself counts as a wish for the device. */
bool wh_turn_hold(struct wh_session *s, int device);
/* Has this worker the device, or are no turns kept? */
bool wh_turn_held(const struct wh_session *s, int device);
/* Does anybody else wait for the device? */
bool wh_turn_contested(struct wh_session *s, int device);
/*
 * The same for a thread that is no caller of the session; waiters count whether they are believed
 * or not.
 */
bool wh_turn_awaited(const struct wh_session *s, int device);
/* The same for a tenant that goes first, whatever is left of the turn. */
bool wh_turn_owed(const struct wh_session *s, int device);
/*
 * Has this worker the device, and does somebody want it who would not go first: a lower class, or,
 * if this one works for long within its guarantee, one that is beyond it?
 */
bool wh_turn_above(const struct wh_session *s, int device);
/* Looks who else is at work on the device, for wh_sm_device.crowded. */
void wh_turn_look(struct wh_session *s, int device);
/* The work under way should take so much longer. */
void wh_turn_keep(struct wh_session *s, int device, double left_ns);
void wh_turn_release(struct wh_session *s, int device);
/*
 * Returns a word of the worker that has the device, and in *seen its value while the turn lasts.
 * NULL: not known.
 */
const uint32_t *wh_turn_word(const struct wh_session *s, int device, uint32_t *seen);
/* Returns when the work of the worker that has the device should be done; 0: not known. */
uint64_t wh_turn_ending(const struct wh_session *s, int device);

#endif
