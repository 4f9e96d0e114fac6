// SPDX-License-Identifier: Apache-2.0
/*
 * The target is the reader of code images. An input is an image as it is, or says what
 * entries a fatbin has and what is wrong in them. Their payloads are compressed here, so
 * that inputs reach what lies behind the compression as well.
 */
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "driver/driver.h"
#include "fuzz.h"

#define HEADER	16
#define ENTRY	64
#define ROOM	65536
#define LZ4	0x2000
#define ZSTD	0x8000

static uint8_t image[ROOM];

static void put(uint8_t *at, uint64_t v, size_t n)
{
	memcpy(at, &v, n);
}

static size_t compress(uint8_t *to, size_t room, const uint8_t *from, size_t n, unsigned int how)
{
	size_t packed;
	int got;

	switch (how) {
	case ZSTD:
		packed = ZSTD_compress(to, room, from, n, 1);
		return ZSTD_isError(packed) ? 0 : packed;
	case LZ4:
		got = LZ4_compress_default((const char *)from, (char *)to, (int)n, (int)room);
		return got > 0 ? got : 0;
	default:
		n = n < room ? n : room;
		memcpy(to, from, n);
		return n;
	}
}

/* Changes one place in the head of an entry or of the fatbin. */
static void spoil(struct fuzz_input *in, uint8_t *head, size_t size)
{
	size_t at = fuzz_pick(in, size / 2) * 2;
	uint64_t v = fuzz_pick(in, 4) ? fuzz_pick(in, 256) : fuzz_pick(in, 0);
	size_t n = 2u << fuzz_pick(in, 3);

	if (fuzz_pick(in, 2))
		v = 0 - v;
	put(head + at, v, at + n <= size ? n : 2);
}

static size_t entry(struct fuzz_input *in, uint8_t *e, size_t room)
{
	static const unsigned int ways[] = { 0, LZ4, ZSTD };
	unsigned int how = ways[fuzz_pick(in, 3)], kind = fuzz_pick(in, 8) ? 1 : 2;
	unsigned int sm = fuzz_pick(in, 2) ? 70 : (unsigned int)fuzz_pick(in, 128);
	const uint8_t *text;
	size_t n, packed;

	if (room < ENTRY + 1024)
		return 0;
	n = fuzz_bytes(in, &text, fuzz_pick(in, 1024));
	packed = compress(e + ENTRY, room - ENTRY, text, n, how);
	memset(e, 0, ENTRY);
	put(e, kind, 2);
	put(e + 4, ENTRY, 4);
	put(e + 8, packed, 8);
	put(e + 16, how ? packed : 0, 4);
	put(e + 28, sm, 4);
	put(e + 40, how, 8);
	put(e + 56, n, 8);
	if (fuzz_pick(in, 4) == 0)
		spoil(in, e, ENTRY);
	return ENTRY + packed;
}

static size_t build(struct fuzz_input *in)
{
	size_t size = HEADER, more;
	int entries;

	for (entries = 1 + fuzz_pick(in, 4); entries && in->at < in->end; entries--) {
		more = entry(in, image + size, ROOM - size);
		if (!more)
			break;
		size += more;
	}
	memset(image, 0, HEADER);
	put(image, 0xba55ed50u, 4);
	put(image + 4, 1, 2);
	put(image + 6, HEADER, 2);
	put(image + 8, size - HEADER, 8);
	if (fuzz_pick(in, 8) == 1)
		spoil(in, image, HEADER);
	if (fuzz_pick(in, 8) == 1)
		size = fuzz_pick(in, size);
	return size;
}

/* Reads from memory of exactly that size, so that the sanitizer sees a read beyond it. */
static void find(const uint8_t *data, size_t size)
{
	struct sgpu_images found;
	void *copy = malloc(size);

	memcpy(copy, data, size);
	if (!sgpu_images_find(copy, size, &found))
		sgpu_images_free(&found);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };

	if (!size)
		return 0;
	if (fuzz_pick(&in, 2) == 0)
		find(in.at, in.end - in.at);
	else
		find(image, build(&in));
	return 0;
}
