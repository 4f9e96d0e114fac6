/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks that all folders of the server read. */
#ifndef WORMHOLE_SERVER_CLOCK_H
#define WORMHOLE_SERVER_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t wh_clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };	/* stays 0 for the clock of a process that is gone */

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Use this clock for how long something took, or may take. */
static inline uint64_t wh_now_ns(void)
{
	return wh_clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t wh_now_ms(void)
{
	return (int64_t)(wh_now_ns() / 1000000);
}

/* Use this clock for when something happened. */
static inline uint64_t wh_wall_ns(void)
{
	return wh_clock_ns(CLOCK_REALTIME);
}

#endif
