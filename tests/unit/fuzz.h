/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that send random requests share this file: numbers that a seed repeats (WH_SEED),
 * living handles to strew in, and requests of plausible words.
 */
#ifndef WORMHOLE_TEST_FUZZ_H
#define WORMHOLE_TEST_FUZZ_H

#include "session_fixture.h"

static uint64_t fuzz_state;

/* Prints the seed. Call it after the plan. */
__attribute__((unused)) static void fuzz_start(void)
{
	const char *seed = getenv("WH_SEED");

	fuzz_state = seed ? strtoull(seed, NULL, 0) : 0x9e3779b97f4a7c15ULL;
	diag("WH_SEED=0x%llx", (unsigned long long)fuzz_state);
}

static uint64_t next(void)
{
	fuzz_state ^= fuzz_state << 13;
	fuzz_state ^= fuzz_state >> 7;
	fuzz_state ^= fuzz_state << 17;
	return fuzz_state;
}

/* Reads to its last byte what a handler passes on, so that a wrong count shows. */
static volatile uint8_t fuzz_sink;

static void touch(const void *p, size_t n)
{
	const uint8_t *b = p;

	if (b && n)
		fuzz_sink = b[0] ^ b[n - 1];
}

/* Most addresses are the device's, because the test is for what comes after that check. */
static inline CUresult fuzz_attributes(unsigned int n, CUpointer_attribute *which, void **to,
				       CUdeviceptr p)
{
	const uint64_t answer[3] = { next() % 8 ? CU_MEMORYTYPE_DEVICE : 0, p, 1ULL << 20 };
	unsigned int i;

	(void)which;
	for (i = 0; i < n; i++)
		*(uint64_t *)to[i] = answer[i % 3];
	return next() % 16 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static uint64_t handle[256];
static unsigned int handles;

__attribute__((unused)) static void keep_handle(uint64_t id)
{
	handle[handles++ % 256] = id;
}

/* Returns one of the kept handles, or 0. */
static uint64_t any_handle(void)
{
	unsigned int n = handles < 256 ? handles : 256;

	return n ? handle[next() % n] : 0;
}

static uint64_t fuzz_word(const struct wh_session *s)
{
	switch (next() % 12) {
	case 0: case 1: case 2:
		return any_handle();
	case 3: case 4:
		return next() % (next() % 2 ? 9 : 80);	/* counts; values of enums */
	case 5:
		return (uintptr_t)s->data + next() % s->data_size;
	case 6:
		return next() % s->frame[0].max;
	case 7:
		return UINT64_MAX - next() % 32;
	case 8:
		return next();
	default:
		return 0;
	}
}

/* Fills a message with words, the head included. Returns the request's size. */
__attribute__((unused)) static size_t fuzz_fill(struct wh_session *s, size_t min_size)
{
	size_t size = min_size + next() % 3 * (next() % 600), i;
	uint64_t *w = msg(s);

	if (next() % 50 == 0)
		size = next() % (s->frame[0].max + 2);
	for (i = 0; i < size / 8 + 1 && i < s->frame[0].max / 8; i++)
		w[i] = fuzz_word(s);
	return size;
}

#endif
