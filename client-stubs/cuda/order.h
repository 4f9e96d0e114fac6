/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of posted calls, and their order between slots (order.c). */
#ifndef WORMHOLE_ORDER_H
#define WORMHOLE_ORDER_H

#include "client.h"

/* Of what is known, part of each proof (post.c); and the same of what also depends on addresses. */
extern WH_HIDDEN uint64_t wh_epoch, wh_epoch_memory;
extern WH_HIDDEN uint64_t wh_epoch_library[WH_LIBS];	/* of each library's own calls */
extern WH_HIDDEN int wh_captures;	/* under way */
extern WH_HIDDEN bool wh_shares_events;

/* Of what is known; never 0. What was true at one epoch is true while it lasts. */
uint64_t wh_post_epoch(void);
void wh_post_change(uint16_t effects);	/* of a call that begins: quick.h */
CUresult wh_post_end(CUresult res);	/* of every answer: what is returned for it */
void wh_post_library_changes(void);	/* of every one to a library that is not posted */
void wh_post_after_fork(void);
uint32_t wh_post_running(void);		/* the call in this thread's slot */

/* What a call is ordered by. */
struct wh_keys {
	uint64_t key[2];
	unsigned int n;
	bool all;
};
struct wh_keys wh_keys_of(const struct wh_req *q, uint32_t handler);
/* What was posted in other slots, and such a call must not overtake, is done. */
int wh_order(const struct wh_keys *k);
/* The same before a request is sent. */
int wh_post_order(const struct wh_call *c, uint32_t handler);
/* One was posted: before the call returns to the program. */
void wh_order_note(const struct wh_keys *k);

#endif
