/* SPDX-License-Identifier: Apache-2.0 */
/* Turns on a device (turns.c), for bucket.c; and what limits.c maps for them. */
#ifndef WORMHOLE_TURNS_H
#define WORMHOLE_TURNS_H

#include "limits/charge.h"
#include "limits/limits.h"

/* What another tenant's claims are still believed, on one device. */
struct wh_turn_credit {
	int64_t ns;
	uint64_t seen_tsc;	/* when they last held us up; 0: never */
};

struct wh_turn_peer {
	uint64_t tenant_id;	/* of the page; 0: none was looked for */
	const struct wh_seat *page;	/* NULL: not there */
	const struct wh_seat *before;	/* the one before it, NULL: none */
	struct wh_turn_credit credit[WH_TENANT_DEVICES];
};

struct wh_turns {
	int dir;		/* of the seats' files */
	const struct wh_board *board;
	struct wh_seat *own;
	unsigned int seat;
	struct wh_turn_peer peer[WH_SEATS];
};

/* limits.c: a seat's page by its tenant, NULL when there is none; and its end. */
const struct wh_seat *wh_turn_map(struct wh_turns *v, uint64_t tenant_id);
void wh_turn_unmap(const struct wh_seat *page);

/* May this worker put work on the device now? It is taken to want to. */
bool wh_turn_hold(struct wh_session *s, int device);
/* Has it the device, or are none kept? */
bool wh_turn_held(const struct wh_session *s, int device);
/* Does somebody else wait for it? */
bool wh_turn_contested(struct wh_session *s, int device);
/* The same, without the gate, and whether they are believed or not. */
bool wh_turn_awaited(const struct wh_session *s, int device);
/* Work is under way that should take so much longer. */
void wh_turn_keep(struct wh_session *s, int device, double left_ns);
void wh_turn_release(struct wh_session *s, int device);
/* A word of who has the device and what stands there as long as it has; NULL: not known. */
const uint32_t *wh_turn_word(const struct wh_session *s, int device, uint32_t *seen);
/* When the work of who has the device should be done; 0: not known. */
uint64_t wh_turn_ending(const struct wh_session *s, int device);

#endif
