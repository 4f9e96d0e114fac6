/* SPDX-License-Identifier: Apache-2.0 */
/* Knowledge about posted calls, and their order between slots (order.c). */
#ifndef WORMHOLE_ORDER_H
#define WORMHOLE_ORDER_H

#include "client.h"

/*
 * Epochs of what is known, part of each proof (post.c). The second is for what also depends on
 * addresses.
 */
extern WH_HIDDEN uint64_t wh_epoch, wh_epoch_memory;
extern WH_HIDDEN uint64_t wh_epoch_library[WH_LIBS];	/* an epoch for the calls of each library */
extern WH_HIDDEN int wh_captures;	/* number under way */
extern WH_HIDDEN bool wh_shares_events;
extern WH_HIDDEN bool wh_apart;		/* something is out of the legacy default stream's order */

/*
 * Returns the epoch of what is known, which is never 0. What is true in an epoch is true while
 * it lasts.
 */
uint64_t wh_post_epoch(void);
void wh_post_change(uint16_t effects);	/* for a call that begins: quick.h */
CUresult wh_post_end(CUresult res);	/* for every answer; returns the result to give back */
void wh_post_library_changes(void);	/* for every call to a library that is not posted */
void wh_post_after_fork(void);
bool wh_posts(void);			/* can the transport post? Also without a slot */
uint32_t wh_post_running(void);		/* returns the call in this thread's slot */

/* The streams and events by which a call is ordered. */
struct wh_keys {
	uint64_t key[2];
	unsigned int n;
	bool all;
};
/* Returns where a call's request names an event; 0: it names none. */
uint16_t wh_event_at(uint32_t call);
struct wh_keys wh_keys_of(const struct wh_req *q, uint32_t handler);
/* Waits until all is done that was posted in other slots and that such a call must not overtake. */
int wh_order(const struct wh_keys *k);
/* Does the same before a request is sent. */
int wh_post_order(const struct wh_call *c, uint32_t handler);
/* Notes a posted call, before it returns to the program. */
void wh_order_note(const struct wh_keys *k);

#endif
