// SPDX-License-Identifier: Apache-2.0
/*
 * Looks into images of code, as their makers pack them: nvcc compresses the PTX of a fatbin, and
 * with options all of it. This only finds a word in an image; the driver reads the image itself. An
 * image comes from the client. So each size is checked, the cost of an image has a bound, and an
 * image that cannot be looked into counts as having any word.
 */
#define _GNU_SOURCE
#include "session/image.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define FATBIN_MAGIC	0xba55ed50u
#define FLAG_LZ4	0x2000u
#define FLAG_ZSTD	0x8000u
#define KIND_ELF	2
/* At most this much is unpacked of an entry, and of an image: a quarter of a second. */
#define MAX_ENTRY	(64UL << 20)
#define MAX_IMAGE	(256UL << 20)

struct fatbin {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;		/* bytes of the entries */
};

struct entry {
	uint16_t kind, attributes;
	uint32_t header_size;
	uint64_t size;		/* bytes that follow the header */
	uint32_t packed;	/* compressed bytes of these */
	uint32_t options;
	uint16_t minor, major;
	uint32_t sm;
	uint32_t name[2];
	uint64_t flags;
	uint64_t unused;
	uint64_t unpacked;
};
_Static_assert(sizeof(struct entry) == 0x40 && offsetof(struct entry, flags) == 0x28,
	       "as NVIDIA lays it out");

/* The word that is looked for, and how much may still be unpacked. */
struct search {
	const char *word;
	uint64_t majors;
	size_t left;
};

/*
 * Made once, at the start: to make one asks CPUID what the processor can do, which is a handoff in
 * a virtual machine. Code is loaded by calls that run alone, so one is enough.
 */
static ZSTD_DCtx *zstd;

void wh_image_ready(void)
{
	if (!zstd)
		zstd = ZSTD_createDCtx();
}

static bool has(const void *p, size_t n, const char *word)
{
	return memmem(p, n, word, strlen(word));
}

/* Returns 0 if the data is not what the entry says. */
static size_t unpack(const struct entry *e, const uint8_t *from, void *to)
{
	size_t n;
	int got;

	if (e->flags & FLAG_ZSTD) {
		n = zstd ? ZSTD_decompressDCtx(zstd, to, e->unpacked, from, e->packed) : 0;
		return ZSTD_isError(n) ? 0 : n;
	}
	got = LZ4_decompress_safe((const char *)from, to, (int)e->packed, (int)e->unpacked);
	return got > 0 ? got : 0;
}

static bool packed_has(struct search *s, const struct entry *e, const uint8_t *from)
{
	bool found = true;
	size_t n;
	void *to;

	if (!(e->flags & (FLAG_LZ4 | FLAG_ZSTD)) || e->packed > e->size || !e->unpacked ||
	    e->unpacked > MAX_ENTRY || e->unpacked > s->left)
		return true;
	s->left -= e->unpacked;
	to = malloc(e->unpacked);
	if (!to)
		return true;
	n = unpack(e, from, to);
	if (n)
		found = has(to, n, s->word);
	free(to);
	return found;
}

/* Code for another kind of device does not run here; PTX may, whatever it was made for. */
static bool other_device(const struct search *s, const struct entry *e)
{
	unsigned int major = e->sm / 10;

	return e->kind == KIND_ELF && s->majors && major < 64 && !(s->majors >> major & 1);
}

static bool entries_have(struct search *s, const uint8_t *p, size_t n)
{
	struct entry e;

	for (; n; p += e.header_size + e.size, n -= e.header_size + e.size) {
		if (n < sizeof(e))
			return true;
		memcpy(&e, p, sizeof(e));
		if (e.header_size < sizeof(e) || e.header_size > n || e.size > n - e.header_size)
			return true;
		if ((e.packed || e.flags & (FLAG_LZ4 | FLAG_ZSTD)) && !other_device(s, &e) &&
		    packed_has(s, &e, p + e.header_size))
			return true;
	}
	return false;
}

bool wh_image_may_have(const void *image, size_t size, const char *word, uint64_t majors)
{
	struct search s = { word, majors, MAX_IMAGE };
	const uint8_t *p = image;
	struct fatbin h;

	if (has(image, size, word))
		return true;
	/* Several fatbins may follow each other. */
	for (; size >= sizeof(h); p += h.header_size + h.size, size -= h.header_size + h.size) {
		memcpy(&h, p, sizeof(h));
		if (h.magic != FATBIN_MAGIC)
			return false;
		if (h.header_size < sizeof(h) || h.header_size > size ||
		    h.size > size - h.header_size ||
		    entries_have(&s, p + h.header_size, h.size))
			return true;
	}
	return false;
}

static bool entries_are_whole(const uint8_t *p, size_t n)
{
	struct entry e;

	for (; n; p += e.header_size + e.size, n -= e.header_size + e.size) {
		if (n < sizeof(e))
			return false;
		memcpy(&e, p, sizeof(e));
		if (e.header_size < sizeof(e) || e.header_size > n || e.size > n - e.header_size ||
		    e.packed > e.size)
			return false;
	}
	return true;
}

bool wh_image_is_whole(const void *image, size_t size)
{
	struct fatbin h = { 0 };

	memcpy(&h, image, size < sizeof(h) ? size : sizeof(h));
	if (h.magic != FATBIN_MAGIC)
		return true;
	return size >= sizeof(h) && h.header_size >= sizeof(h) && h.header_size <= size &&
	       h.size <= size - h.header_size &&
	       entries_are_whole((const uint8_t *)image + h.header_size, h.size);
}
