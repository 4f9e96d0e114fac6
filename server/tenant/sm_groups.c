// SPDX-License-Identifier: Apache-2.0
/* Arithmetic on groups of SMs; knows no device and no tenant. */
#include "tenant/sm_groups.h"

#define MAX_GROUPS	64u	/* bits of wh_device_limit.sm_groups */

unsigned int wh_sm_groups(uint32_t sms)
{
	unsigned int n = sms / WH_GROUP_SMS;

	return n < MAX_GROUPS ? n : MAX_GROUPS;
}

static unsigned int at_least_one(unsigned int n)
{
	return n ? n : 1;
}

unsigned int wh_sm_groups_least(unsigned int groups, uint32_t percent)
{
	return at_least_one(percent * groups / 100);
}

/*
 * Whoever is rounded up takes a part of what others may still come for. As long as all
 * together have no more than their sum rounded up, each that comes gets its whole groups at
 * least, up to 100 %, in whatever order they come; and of all 100 % what the largest
 * remainders give.
 */
unsigned int wh_sm_groups_for(unsigned int groups, uint32_t percent, uint32_t others_percent,
			      unsigned int others)
{
	unsigned int near = at_least_one((percent * groups + 50) / 100);
	unsigned int sum = ((percent + others_percent) * groups + 99) / 100;

	sum = sum < groups ? sum : groups;
	return others + near <= sum ? near : wh_sm_groups_least(groups, percent);
}

static uint64_t low_bits(unsigned int n)
{
	return n >= 64 ? UINT64_MAX : (1ULL << n) - 1;
}

uint64_t wh_sm_groups_choose(unsigned int groups, uint64_t used, unsigned int n)
{
	uint64_t left = low_bits(groups) & ~used, run = low_bits(n), out = 0;
	unsigned int i;

	if ((unsigned int)__builtin_popcountll(left) < n)
		return 0;
	for (i = 0; i + n <= groups; i++)
		if (((run << i) & left) == run << i)
			return run << i;
	for (i = 0; n; i++)
		if (left & (1ULL << i)) {
			out |= 1ULL << i;
			n--;
		}
	return out;
}
