// SPDX-License-Identifier: Apache-2.0
/*
 * The seals of images. CUPTI follows the numbers in an image without a check: one of other bytes
 * ends its process, or does worse. So a worker takes images that it has made itself, and knows them
 * by a keyed hash (SipHash-2-4) behind their bytes. The key is the process's own.
 */
#include "cupti_counters.h"

#include <sys/random.h>

struct seal {
	uint64_t hash;
	uint64_t size;
};
_Static_assert(sizeof(struct seal) == WH_CUPTI_SEAL, "as the client counts it");

static uint64_t key[2];

static bool has_key(void)
{
	return key[0] | key[1] || getrandom(key, sizeof(key), 0) == sizeof(key);
}

static uint64_t turned(uint64_t x, unsigned int by)
{
	return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4], unsigned int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = turned(v[1], 13) ^ v[0];
		v[3] = turned(v[3], 16) ^ v[2];
		v[0] = turned(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = turned(v[1], 17) ^ v[2];
		v[3] = turned(v[3], 21) ^ v[0];
		v[2] = turned(v[2], 32);
	}
}

static void take(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mix(v, 2);
	v[0] ^= word;
}

/* The kind of the image is the last byte that is hashed. */
static uint64_t hash(enum wh_seal kind, const uint8_t *image, size_t size)
{
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
		key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL,
	};
	uint64_t word, last = (uint64_t)(size + 1) << 56;
	size_t i;

	for (i = 0; size - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, image + i, sizeof(word));
		take(v, word);
	}
	word = 0;
	memcpy(&word, image + i, size - i);
	word |= (uint64_t)kind << 8 * (size - i);
	if (size - i == sizeof(word) - 1) {
		take(v, word);
		word = 0;
	}
	take(v, word | last);
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

bool wh_seal_put(enum wh_seal kind, uint8_t *image, size_t size)
{
	struct seal seal = { .size = size };

	if (!has_key())
		return false;
	seal.hash = hash(kind, image, size);
	memcpy(image + size, &seal, sizeof(seal));
	return true;
}

bool wh_seal_good(enum wh_seal kind, const uint8_t *image, size_t size)
{
	struct seal seal;

	memcpy(&seal, image + size, sizeof(seal));
	return has_key() && seal.size == size && seal.hash == hash(kind, image, size);
}
