// SPDX-License-Identifier: Apache-2.0
/* Arithmetic on groups of SMs; knows no device and no tenant. */
#include "tenant/sm_groups.h"

#define MAX_GROUPS	64u	/* bits of wh_device_limit.sm_groups */

unsigned int wh_sm_groups(uint32_t sms)
{
	unsigned int n = sms / WH_GROUP_SMS;

	return n < MAX_GROUPS ? n : MAX_GROUPS;
}

unsigned int wh_sm_groups_for(uint32_t sms, uint32_t percent)
{
	unsigned int n = (percent * sms + 50 * WH_GROUP_SMS) / (100 * WH_GROUP_SMS);
	unsigned int all = wh_sm_groups(sms);

	if (n > all)
		n = all;
	return n ? n : 1;
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
