/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which groups of a device's SMs a spatial limit stands for. limits/sms.c splits
 * a device into groups of WH_GROUP_SMS; whoever owns the tenants gives each its
 * own ones, as a mask. What remains of a device beside whole groups is nobody's.
 */
#ifndef WORMHOLE_SM_GROUPS_H
#define WORMHOLE_SM_GROUPS_H

#include <stdint.h>

#define WH_GROUP_SMS	8u

/* Of a device with so many SMs; 64 at most. */
unsigned int wh_sm_groups(uint32_t sms);
/*
 * How many of a device's groups a share is, beside others with so much in sum: the nearest
 * number, or where that would leave too few to those that are still to come, the one below;
 * one at least.
 */
unsigned int wh_sm_groups_for(unsigned int groups, uint32_t percent, uint32_t others_percent,
			      unsigned int others);
/* The fewest that such a share may be. */
unsigned int wh_sm_groups_least(unsigned int groups, uint32_t percent);
/* Mask of n of the groups without those in `used`: neighbours if there are; 0: too few are left. */
uint64_t wh_sm_groups_choose(unsigned int groups, uint64_t used, unsigned int n);

#endif
