// SPDX-License-Identifier: Apache-2.0
/*
 * The program's clock, and how the worker's runs by it. Both are read together, as close as a call
 * allows, at the begin of a profile and at each flush: between the first and the last of these
 * points a line gives the program's time of the worker's.
 */
#include "cupti_stub.h"

#include <time.h>

#define TRIES	8

struct point {
	uint64_t there, here;
};

static CUpti_TimestampCallbackFunc own;
static struct point first, last;
static unsigned int points;

uint64_t cu_now(void)
{
	CUpti_TimestampCallbackFunc f = __atomic_load_n(&own, __ATOMIC_ACQUIRE);
	struct timespec t;

	if (f)
		return f();
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	if (!timestamp)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	*timestamp = cu_now();
	return CUPTI_SUCCESS;
}

/* NULL: CUPTI's own clock again. Points by another clock are worth nothing. */
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
	if (funcTimestamp != own)
		cu_clock_forget();
	__atomic_store_n(&own, funcTimestamp, __ATOMIC_RELEASE);
	return CUPTI_SUCCESS;
}

static CUptiResult read_there(uint64_t *there)
{
	const struct wh_rsp_whCuptiClock *r;
	struct wh_call c;
	CUptiResult res;

	if (!wh_cupti_begin(&c, WH_CALL_whCuptiClock, sizeof(struct wh_req)))
		return wh_cupti_lost(c.result);
	res = wh_cupti_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUPTI_SUCCESS)
		*there = r->now;
	wh_end(&c);
	return res;
}

CUptiResult cu_clock_compare(void)
{
	uint64_t before, after, there, best = UINT64_MAX;
	struct point p = { 0, 0 };
	CUptiResult res;
	int i;

	for (i = 0; i < TRIES; i++) {
		before = cu_now();
		res = read_there(&there);
		after = cu_now();
		if (res != CUPTI_SUCCESS)
			return res;
		if (after - before >= best)
			continue;
		best = after - before;
		p = (struct point) { there, before + best / 2 };
	}
	if (!points++)
		first = p;
	last = p;
	return CUPTI_SUCCESS;
}

void cu_clock_forget(void)
{
	points = 0;
}

uint64_t cu_clock_here(uint64_t there)
{
	__int128 d = (__int128)there - first.there;
	uint64_t run = last.there - first.there;

	if (!there)
		return 0;
	/* Without a second point both clocks count nanoseconds. */
	if (points < 2 || !run)
		return first.here + (int64_t)d;
	return first.here + (int64_t)(d * (int64_t)(last.here - first.here) / (int64_t)run);
}
