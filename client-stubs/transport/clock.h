/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that measures how long something took, or may take. */
#ifndef WORMHOLE_CLOCK_H
#define WORMHOLE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t wh_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static inline int64_t wh_now_ms(void)
{
	return (int64_t)(wh_now_ns() / 1000000);
}

#endif
