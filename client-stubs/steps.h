/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library has taken before, by hashes of all that led there: it takes the same again.
 * One table for each file that includes this. Forgetting is always right.
 */
#ifndef WORMHOLE_STEPS_H
#define WORMHOLE_STEPS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WH_STEP_SETS	4096u
#define WH_STEP_WAYS	8u

/* The last one learned first. */
static uint64_t wh_steps[WH_STEP_SETS][WH_STEP_WAYS];

static inline uint64_t wh_step_mix(uint64_t h, uint64_t w)
{
	h = (h ^ w) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

static inline bool wh_step_known(uint64_t hash)
{
	const uint64_t *s = wh_steps[hash % WH_STEP_SETS];
	uint32_t i;

	for (i = 0; i < WH_STEP_WAYS; i++)
		if (__atomic_load_n(&s[i], __ATOMIC_RELAXED) == hash)
			return true;
	return false;
}

static inline void wh_step_learn(uint64_t hash)
{
	uint64_t *s = wh_steps[hash % WH_STEP_SETS];
	uint32_t i;

	if (wh_step_known(hash))
		return;
	for (i = WH_STEP_WAYS - 1; i; i--)
		__atomic_store_n(&s[i], __atomic_load_n(&s[i - 1], __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
	__atomic_store_n(&s[0], hash, __ATOMIC_RELAXED);
}

static inline void wh_steps_forget(void)
{
	memset(wh_steps, 0, sizeof(wh_steps));
}

#endif
