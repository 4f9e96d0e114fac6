/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which groups of a device's SMs a spatial limit stands for. limits/sm_split.c splits a
 * device; whoever owns the tenants gives each its own groups, as a mask.
 */
#ifndef WORMHOLE_SM_GROUPS_H
#define WORMHOLE_SM_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#define WH_SM_GROUPS	64u	/* bits of wh_device_limit.sm_groups */

struct wh_sm_split {
	uint32_t groups;	/* 0: the device cannot be split so */
	uint32_t size;		/* SMs of a group */
	uint32_t rest;		/* SMs of the last group where it is no whole one, else 0 */
	/*
	 * 1: the SMs of a group are not scheduled together, so that clusters of more than 2
	 * thread blocks do not run.
	 */
	uint32_t loose;
};

/*
 * Of so many whole groups and the SMs that remain beside them: these are the last group where
 * they are half a one at least, else nobody's.
 */
struct wh_sm_split wh_sm_split_of(uint32_t whole, uint32_t size, uint32_t rest, bool loose);
/* Is it what wh_sm_split_of() may give for a device with so many SMs, or none? */
bool wh_sm_split_ok(const struct wh_sm_split *s, uint32_t sms);
/*
 * How many of a device's groups a share is, beside others with so much in sum: the nearest
 * number, or where that would leave too few to those that are still to come, the one below;
 * one at least.
 */
unsigned int wh_sm_groups_for(unsigned int groups, uint32_t percent, uint32_t others_percent,
			      unsigned int others);
/* The fewest that such a share may be. */
unsigned int wh_sm_groups_least(unsigned int groups, uint32_t percent);
/*
 * Mask of n of the groups without those in `used`, for a share: neighbours if there are. What
 * is no whole group is among them where the share's SMs are nearer with it or nothing else is
 * left, and never alone while a whole one is free: on its own it runs no cluster of more than
 * 2 thread blocks. 0: too few are left.
 */
uint64_t wh_sm_groups_choose(const struct wh_sm_split *s, uint64_t used, unsigned int n,
			     uint32_t percent);

#endif
