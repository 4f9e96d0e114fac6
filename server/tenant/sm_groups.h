/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which groups of a device's SMs a spatial limit means. limits/sm_split.c splits a device;
 * whoever owns the tenants gives each one its own groups, as a mask.
 */
#ifndef WORMHOLE_SM_GROUPS_H
#define WORMHOLE_SM_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#define WH_SM_GROUPS	64u	/* bits of wh_device_limit.sm_groups */

struct wh_sm_split {
	uint32_t groups;	/* 0: the device cannot be split like this */
	uint32_t size;		/* SMs of a group */
	uint32_t rest;		/* SMs of the last group if it is not a whole one, else 0 */
	/*
	 * 1: the SMs of a group are not scheduled together, so that clusters of more than 2
	 * thread blocks do not run.
	 */
	uint32_t loose;
};

/*
 * Makes a split of so many whole groups and the SMs that remain beside them. The remaining SMs are
 * the last group if they are at least half a group; otherwise nobody gets them.
 */
struct wh_sm_split wh_sm_split_of(uint32_t whole, uint32_t size, uint32_t rest, bool loose);
/* Can wh_sm_split_of() return this for a device with so many SMs, or is it no split? */
bool wh_sm_split_ok(const struct wh_sm_split *s, uint32_t sms);
/*
 * Returns how many of a device's groups a share means, beside `others` groups of tenants whose
 * shares add up to others_percent. It is the nearest number, or the one below it if the nearest one
 * would leave too few for tenants that are still to come; it is at least one.
 */
unsigned int wh_sm_groups_for(unsigned int groups, uint32_t percent, uint32_t others_percent,
			      unsigned int others);
/* Returns the fewest groups that such a share may mean. */
unsigned int wh_sm_groups_least(unsigned int groups, uint32_t percent);
/*
 * Chooses a mask of n of the groups that are not in `used`, for a share: neighbours, if there are
 * any. The group that is not a whole one is among them if the share's SMs are nearer with it, or if
 * nothing else is left. It is never alone while a whole group is free, since on its own it runs no
 * cluster of more than 2 thread blocks. 0: too few groups are left.
 */
uint64_t wh_sm_groups_choose(const struct wh_sm_split *s, uint64_t used, unsigned int n,
			     uint32_t percent);

#endif
