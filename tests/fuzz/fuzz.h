/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz targets share: reading an input as choices, and a process for each input. */
#ifndef WORMHOLE_TESTS_FUZZ_H
#define WORMHOLE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input, from its beginning on; behind its end there are zeros. */
struct fuzz_input {
	const uint8_t *at, *end;
};

/* The next number below `below`, of as few bytes as that takes; any of 64 bits for 0. */
static inline uint64_t fuzz_pick(struct fuzz_input *in, uint64_t below)
{
	int bytes = !below || below > 1ULL << 32 ? 8 : below > 1 << 16 ? 4 : below > 256 ? 2 : 1;
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | (in->at < in->end ? *in->at++ : 0);
	return below ? v % below : v;
}

/* So many bytes, or what is left of them. */
static inline size_t fuzz_bytes(struct fuzz_input *in, const uint8_t **from, size_t most)
{
	size_t n = in->end - in->at;

	n = n < most ? n : most;
	*from = in->at;
	in->at += n;
	return n;
}

/* forked.c: once, when all that an input finds there is made. */
void fuzz_share_counters(void);
/*
 * Runs fn in a process of its own. Whatever ends that badly ends this one, and the
 * input is kept; a call that waits for what never comes is ended after a while, and
 * is no find.
 */
void fuzz_in_process(void (*fn)(struct fuzz_input *in), const uint8_t *data, size_t size);

#endif
