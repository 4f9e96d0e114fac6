/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots of a part as the client sees them: what it sent, what is done, where posted calls lie.
 * A process has one link, so there is one set of them.
 */
#ifndef WORMHOLE_LANES_H
#define WORMHOLE_LANES_H

#include "transport.h"

/* What a transport does for them. All run on any thread. */
struct wh_lane_ops {
	bool one_machine;	/* the worker's CPUs are this kernel's, too */
	/*
	 * Sleeps while the word of that slot has the value, a second at most or until it is
	 * woken. Returns WH_OK, or WH_EGONE: the worker has ended.
	 */
	int (*sleep)(uint32_t number, const uint32_t *word, uint32_t value);
	/* Wakes a worker that sleeps on the word. */
	void (*wake)(uint32_t number, const uint32_t *word);
	int (*use)(uint32_t number);	/* makes the worker serve that slot; WH_OK or WH_EGONE */
	bool (*gone)(void);		/* has the worker ended? */
};

/* The link's part is mapped and checked, and slot 0 is served. */
void wh_lanes_open(struct wh_link *l, const struct wh_lane_ops *ops);

/* As in struct wh_transport. */
int wh_lanes_call(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot);
int wh_lanes_call_patiently(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot);
int wh_lanes_post(struct wh_link *l, uint32_t slot, uint32_t handler, size_t size);
int wh_lanes_reached(struct wh_link *l, uint32_t slot, uint64_t number);
int wh_lanes_settle(struct wh_link *l, uint32_t slot);
int wh_lanes_abandon(struct wh_link *l, uint32_t slot);

#endif
