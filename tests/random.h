/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that look random and repeat with the same seed (xorshift64). */
#ifndef WORMHOLE_TESTS_RANDOM_H
#define WORMHOLE_TESTS_RANDOM_H

#include <stdint.h>

/*
 * Each thread has its own state, which must not be 0. A file that includes this header
 * sets it from a seed before the first number.
 */
static _Thread_local uint64_t random_state;

static inline uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Returns a number from 0 to `below` - 1. */
static inline uint64_t any(uint64_t below)
{
	return random_next() % below;
}

#endif
