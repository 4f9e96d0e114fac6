// SPDX-License-Identifier: Apache-2.0
/* Arithmetic on groups of SMs; knows no device and no tenant. */
#include "tenant/sm_groups.h"

struct wh_sm_split wh_sm_split_of(uint32_t whole, uint32_t size, uint32_t rest, bool loose)
{
	const bool last = 2 * rest >= size;
	const struct wh_sm_split s = { whole + last, size, last ? rest : 0, loose };
	const struct wh_sm_split none = { 0 };

	return size && whole && s.groups <= WH_SM_GROUPS ? s : none;
}

static uint64_t sms_of(const struct wh_sm_split *s)
{
	const uint64_t whole = s->groups - (s->rest != 0);

	return whole * s->size + s->rest;
}

bool wh_sm_split_ok(const struct wh_sm_split *s, uint32_t sms)
{
	return !s->groups || (s->groups <= WH_SM_GROUPS && s->size && s->loose <= 1 &&
			      sms_of(s) <= sms);
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
 * A tenant that is rounded up takes a part of what others may still ask for. As long as all tenants
 * together have no more than their sum rounded up, each new one gets at least its whole groups, up
 * to 100 %, in whatever order they come. With 100 % in all, each gets what the largest remainders
 * give.
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

/* Picks n of the groups that are left: the lowest neighbours, or else the lowest ones. */
static uint64_t pick(uint64_t left, unsigned int n)
{
	uint64_t run = low_bits(n), out = 0;
	unsigned int i;

	for (i = 0; i + n <= WH_SM_GROUPS; i++)
		if (((run << i) & left) == run << i)
			return run << i;
	for (; n; n--, left &= left - 1)
		out |= left & -left;
	return out;
}

/* Is the share nearer to n - 1 groups and the rest than to n whole groups? */
static bool is_nearer_with_rest(const struct wh_sm_split *s, unsigned int n, uint32_t percent)
{
	int64_t want = (int64_t)(sms_of(s) * percent);
	int64_t whole = 100 * (int64_t)n * s->size - want;
	int64_t with = 100 * ((int64_t)(n - 1) * s->size + s->rest) - want;

	return with * with < whole * whole;
}

uint64_t wh_sm_groups_choose(const struct wh_sm_split *s, uint64_t used, unsigned int n,
			     uint32_t percent)
{
	const uint64_t rest = s->rest ? 1ULL << (s->groups - 1) : 0;
	const uint64_t free = low_bits(s->groups) & ~used, left = free & ~rest;
	const unsigned int whole = (unsigned int)__builtin_popcountll(left);
	uint64_t beside;

	if (!n || (unsigned int)__builtin_popcountll(free) < n)
		return 0;
	if (whole >= n && (!(free & rest) || n == 1 || !is_nearer_with_rest(s, n, percent)))
		return pick(left, n);
	beside = low_bits(n - 1) << (s->groups - n);
	return rest | ((beside & left) == beside ? beside : pick(left, n - 1));
}
