/* SPDX-License-Identifier: Apache-2.0 */
/* Disjoint ranges of addresses, found by address in the time of a balanced tree. */
#ifndef WORMHOLE_INTERVAL_H
#define WORMHOLE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

struct wh_interval {
	struct wh_interval *left, *right;
	uint64_t base, size;
	uint32_t priority;
	bool lasting;		/* the owner's word: reach.c */
};

/* All zero: empty. */
struct wh_intervals {
	struct wh_interval *root, *spare;
};

/* The last one that begins at addr or below, or NULL. */
struct wh_interval *wh_interval_below(const struct wh_intervals *set, uint64_t addr);
/* Bytes from addr to the end of its range, 0 if it is in none. */
uint64_t wh_interval_from(const struct wh_intervals *set, uint64_t addr);
/* Bytes from addr, which is in none, to the next range; UINT64_MAX if there is none. */
uint64_t wh_interval_gap(const struct wh_intervals *set, uint64_t addr);
/* Takes the place of what it overlaps. False: no memory, or no such range; nothing there then. */
bool wh_interval_put(struct wh_intervals *set, uint64_t base, uint64_t size, bool lasting);
/* Memory for so many, before they are put: no allocation then. False: not all of it. */
bool wh_intervals_reserve(struct wh_intervals *set, unsigned int count);
void wh_interval_drop(struct wh_intervals *set, struct wh_interval *i);
void wh_intervals_clear(struct wh_intervals *set);
void wh_intervals_free(struct wh_intervals *set);

#endif
