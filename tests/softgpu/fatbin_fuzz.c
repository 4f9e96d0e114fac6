// SPDX-License-Identifier: Apache-2.0
/*
 * Feeds the reader of images with right fatbins, and with fatbins whose bytes are changed
 * or cut off. Each lies in a buffer of exactly its size, and the address checker is on: a
 * read beyond it ends the program. It prints TAP.
 */
#include <lz4.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>

#include "../../softgpu/driver/driver.h"
#include "tap.h"

#define ROUNDS	60000

static const char text[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry k()\n{ ret; }\n"
	"// some more text, so that there is something to compress\n"
	"// some more text, so that there is something to compress\n";

static uint32_t seed;

static uint32_t next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

void sgpu_log(const char *fmt, ...)
{
	(void)fmt;
}

unsigned int sgpu_target(void)
{
	return 90;
}

static void put(char *p, size_t at, uint64_t value, int bytes)
{
	memcpy(p + at, &value, bytes);
}

enum form { RAW, LZ4, ZSTD, ELF };

/* Appends one entry; returns its length. */
static size_t entry(char *p, enum form form, unsigned int sm)
{
	static const uint64_t flags[] = { 0, 0x2000, 0x8000, 0 };
	const size_t head = 0x50;
	size_t n = sizeof(text), packed = 0;

	memset(p, 0, head);
	if (form == LZ4)
		packed = LZ4_compress_default(text, p + head, n, 4096);
	else if (form == ZSTD)
		packed = ZSTD_compress(p + head, 4096, text, n, 3);
	else
		memcpy(p + head, text, n);
	put(p, 0, form == ELF ? 2 : 1, 2);
	put(p, 4, head, 4);
	put(p, 8, ((packed ? packed : n) + 7) & ~7ul, 8);
	put(p, 0x10, packed, 4);
	put(p, 0x1c, sm, 4);
	put(p, 0x28, flags[form], 8);
	put(p, 0x38, packed ? n : 0, 8);
	return head + (((packed ? packed : n) + 7) & ~7ul);
}

/* Makes a fatbin of some entries in a buffer of its own size. */
static char *make(const enum form *forms, const unsigned int *sm, int n,
		  size_t *size)
{
	static char room[65536];
	size_t at = 16;
	char *out;

	memset(room, 0, sizeof(room));
	for (int i = 0; i < n; i++)
		at += entry(room + at, forms[i], sm[i]);
	put(room, 0, 0xba55ed50, 4);
	put(room, 4, 1, 2);
	put(room, 6, 16, 2);
	put(room, 8, at - 16, 8);
	out = malloc(at);
	memcpy(out, room, at);
	*size = at;
	return out;
}

/* Returns the targets that were found, as one number: 9075 is 90, then 75. */
static long long found(const void *data, size_t size)
{
	struct sgpu_images images;
	long long result = 0;
	CUresult rc = sgpu_images_find(data, size, &images);

	if (rc)
		return -(long long)rc;
	for (unsigned int i = 0; i < images.n; i++) {
		result = 100 * result + images.image[i].target;
		if (strcmp(images.image[i].text, text))
			result = -9999;
	}
	sgpu_images_free(&images);
	return result;
}

static void right_ones(void)
{
	static const enum form forms[] = { ELF, RAW, LZ4, ZSTD, RAW };
	static const unsigned int sm[] = { 90, 75, 90, 80, 100 };
	struct { uint32_t magic, version; const void *data, *extra; } w = {
		0x466243b1, 1, NULL, NULL };
	static const uint32_t no_code[4] = { 0xba55ed50, 0x00100001, 0, 0 };
	const void *prelinked[2] = { NULL, NULL };
	size_t size;
	char *f = make(forms, sm, 5, &size);

	ok_eq(found(f, SIZE_MAX), 908075, "texts_come_best_first");
	ok_eq(found(f, size), 908075, "the_same_from_a_file");
	w.data = f;
	ok_eq(found(&w, SIZE_MAX), 908075, "the_same_through_a_wrapper");
	prelinked[0] = f;
	w.version = 2;
	w.extra = prelinked;
	ok_eq(found(&w, SIZE_MAX), 908075,
	      "a_linked_fatbin_needs_no_parts");
	w.data = no_code;
	ok_eq(found(&w, SIZE_MAX), 908075,
	      "one_part_alone_stays_as_it_is");
	ok_eq(found(&w, sizeof(w)), -CUDA_ERROR_INVALID_IMAGE,
	      "a_wrapper_in_a_file_is_refused");
	free(f);
	f = make(forms, sm, 1, &size);
	ok_eq(found(f, SIZE_MAX), -CUDA_ERROR_NO_BINARY_FOR_GPU,
	      "machine_code_alone_is_no_binary_for_this_gpu");
	free(f);
	f = make(&forms[4], &sm[4], 1, &size);
	ok_eq(found(f, SIZE_MAX), -CUDA_ERROR_NO_BINARY_FOR_GPU,
	      "so_is_text_for_newer_gpus_alone");
	free(f);
}

static void short_ones(void)
{
	static const enum form forms[] = { LZ4, ZSTD, RAW };
	static const unsigned int sm[] = { 75, 80, 90 };
	size_t size;
	char *f = make(forms, sm, 3, &size);
	int refused = 1;

	for (size_t n = 1; n < size; n++) {
		char *cut = malloc(n);

		memcpy(cut, f, n);
		refused &= found(cut, n) < 0;
		free(cut);
	}
	ok(refused, "each_image_that_is_cut_short_is_refused");
	free(f);
}

/* Changes mostly the numbers that matter: the fields of the headers. */
static void change(char *f, size_t size, int keep_size)
{
	static const uint64_t odd[] = { 0, 1, 0x7f, 0xff, 0x7fffffff,
					0x80000000, 0xffffffff };

	for (int k = 1 + next_random() % 4; k > 0; k--) {
		size_t at = next_random() % size;
		int bytes = 1 << next_random() % 4;
		uint64_t value = next_random() % 2 ? next_random() :
				 odd[next_random() % 7];

		if (at + bytes > size || (keep_size && at < 16))
			continue;
		if (next_random() % 8 == 0)
			value |= (uint64_t)next_random() << 32;
		memcpy(f + at, &value, bytes);
	}
}

static void changed_ones(void)
{
	static const enum form forms[] = { RAW, LZ4, ZSTD, ELF };
	static const unsigned int sm[] = { 75, 80, 90, 90 };
	int refused = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int n = 1 + next_random() % 4;
		size_t size;
		char *f = make(forms + 4 - n, sm, n, &size);
		int in_memory = next_random() % 2;

		change(f, size, in_memory);
		refused += found(f, in_memory ? SIZE_MAX : size) < 0;
		free(f);
	}
	diag("%d of %d changed images refused", refused, ROUNDS);
	ok(refused > ROUNDS / 10 && refused < ROUNDS,
	   "changed_images_never_lead_outside_their_buffer");
}

static void random_text(void)
{
	int refused = 1;

	for (int i = 0; i < ROUNDS; i++) {
		size_t n = 1 + next_random() % 80;
		char *f = malloc(n);

		for (size_t k = 0; k < n; k++)
			f[k] = " /*.version7\n"[next_random() % 13];
		if (next_random() % 2)
			f[n - 1] = 0;
		refused &= found(f, n) != -9999;
		free(f);
	}
	ok(refused, "random_text_never_leads_outside_its_buffer");
}

/* Joins words of PTX in any order, which must end in time and stay within their buffers. */
static void random_parts(void)
{
	static const char *const whole[] = {
		".visible .func name(.param .u32 x) { call other; ret; }\n",
		".extern .func (.param .u32 r) other(.param .u32 x);\n",
		".weak .func other() { ret; }\n", ".func name() { ret; }\n",
		".global .u32 other = { 1, 2 };\n", ".extern .global .u32 x;\n",
		".visible .entry k(.param .u64 p) .maxntid 1 { { ret; } }\n",
	};
	static const char *const words[] = {
		".version 8.0\n", ".target sm_70\n", ".visible ", ".extern ",
		".weak ", ".func ", ".entry ", ".global ", ".u32 ", "name ",
		"other ", "( ", ") ", "{ ", "} ", "; ", "= ", "[4] ", "\"text\" ",
		"\"", "// line\n", "/* ", "*/ ", ".section ", ".file 1\n", "7 ",
		"ret; ", "\\", ".", "%r1, ",
	};
	enum { NWORDS = sizeof(words) / sizeof(words[0]),
	       NWHOLE = sizeof(whole) / sizeof(whole[0]) };
	int joined = 0;

	for (int i = 0; i < ROUNDS / 4; i++) {
		struct sgpu_image parts[3] = { { 0 } }, out;

		for (int k = 0; k < 3; k++) {
			char all[2048] = "";

			for (int n = next_random() % 30; n > 0; n--)
				strcat(all, next_random() % 24 ?
				       whole[next_random() % NWHOLE] :
				       words[next_random() % NWORDS]);
			parts[k].text = strdup(all);
			parts[k].len = strlen(all);
		}
		if (!sgpu_join(parts, 3, &out)) {
			joined += strlen(out.text) == out.len;
			free(out.text);
		}
		for (int k = 0; k < 3; k++)
			free(parts[k].text);
	}
	diag("%d of %d joined", joined, ROUNDS / 4);
	ok(joined > 0, "random_parts_never_lead_outside_their_buffers");
}

int main(int argc, char **argv)
{
	seed = argc > 1 ? atoi(argv[1]) : 1;
	tap_plan(12);
	diag("seed %u", seed);
	right_ones();
	short_ones();
	changed_ones();
	random_text();
	random_parts();
	return tap_exit();
}
