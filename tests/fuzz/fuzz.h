/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz targets share this file: it reads an input as choices, and runs a process for
 * each input.
 */
#ifndef WORMHOLE_TESTS_FUZZ_H
#define WORMHOLE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The rest of the input; behind its end there are zeros. */
struct fuzz_input {
	const uint8_t *at, *end;
};

/*
 * Returns the next number below `below`, from as few bytes as that takes; for 0, any
 * 64-bit number.
 */
static inline uint64_t fuzz_pick(struct fuzz_input *in, uint64_t below)
{
	int bytes = !below || below > 1ULL << 32 ? 8 : below > 1 << 16 ? 4 : below > 256 ? 2 : 1;
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | (in->at < in->end ? *in->at++ : 0);
	return below ? v % below : v;
}

/* Takes @most bytes, or what is left of them. */
static inline size_t fuzz_bytes(struct fuzz_input *in, const uint8_t **from, size_t most)
{
	size_t n = in->end - in->at;

	n = n < most ? n : most;
	*from = in->at;
	in->at += n;
	return n;
}

/* A target calls this once, after it has made all that an input finds there. It is in forked.c. */
void fuzz_share_counters(void);
/*
 * Runs fn in a process of its own. If that process ends badly, this one ends as well, and
 * the input is kept. A call that waits for ever is ended after a while, and is no find.
 */
void fuzz_in_process(void (*fn)(struct fuzz_input *in), const uint8_t *data, size_t size);

#endif
