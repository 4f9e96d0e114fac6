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
	bool lasting;		/* set by the owner of the range: reach.c */
};

/* All zero means empty. */
struct wh_intervals {
	struct wh_interval *root, *spare;
};

/* Returns the last range that begins at addr or below, or NULL. */
struct wh_interval *wh_interval_below(const struct wh_intervals *set, uint64_t addr);
/* Returns the bytes from addr to the end of its range; 0 if it is in none. */
uint64_t wh_interval_from(const struct wh_intervals *set, uint64_t addr);
/*
 * Returns the bytes from addr, which is in no range, to the next range; UINT64_MAX if there is
 * none.
 */
uint64_t wh_interval_gap(const struct wh_intervals *set, uint64_t addr);
/*
 * Puts a range, which replaces those that it overlaps. False: there is no memory, or no such range;
 * then nothing is there.
 */
bool wh_interval_put(struct wh_intervals *set, uint64_t base, uint64_t size, bool lasting);
/* Allocates memory for so many ranges, so that putting them allocates none. False: it got less. */
bool wh_intervals_reserve(struct wh_intervals *set, unsigned int count);
void wh_interval_drop(struct wh_intervals *set, struct wh_interval *i);
void wh_intervals_clear(struct wh_intervals *set);
void wh_intervals_free(struct wh_intervals *set);

#endif
