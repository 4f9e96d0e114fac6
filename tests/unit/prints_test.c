// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises which code may print, so that waits for it flush. Compressed code is
 * looked into, within bounds, and code that cannot be read counts as code that may print.
 */
#include "session_fixture.h"
#include "session/image.h"
#include "tenant/clock.h"

#include <lz4.h>
#include <zstd.h>

#define LZ4	0x2000
#define ZSTD	0x8000
#define HEADER	0x10
#define ENTRY	0x40
#define PTX	1
#define ELF	2
#define TEXT	60000

static char loud[TEXT], quiet[TEXT];
static uint8_t image[1 << 20];
static size_t used;

static void put(size_t at, uint64_t v, size_t n)
{
	memcpy(image + at, &v, n);
}

static void begin_fatbin(void)
{
	memset(image, 0, sizeof(image));
	put(0, 0xba55ed50, 4);
	put(4, 1, 2);
	put(6, HEADER, 2);
	used = HEADER;
}

static size_t pack(uint8_t *to, const void *from, size_t n, unsigned int how)
{
	if (how == ZSTD)
		return ZSTD_compress(to, 1 << 19, from, n, 3);
	if (how == LZ4)
		return LZ4_compress_default(from, (char *)to, n, 1 << 19);
	memcpy(to, from, n);
	return n;
}

/* Adds an entry. Returns where its header is. */
static size_t add(unsigned int kind, unsigned int sm, const char *text, unsigned int how)
{
	size_t at = used, n = pack(image + at + ENTRY, text, TEXT, how);

	put(at, kind, 2);
	put(at + 4, ENTRY, 4);
	put(at + 8, n, 8);
	put(at + 0x10, how ? n : 0, 4);
	put(at + 0x1c, sm, 4);
	put(at + 0x28, how, 8);
	put(at + 0x38, TEXT, 8);
	used += ENTRY + n;
	put(8, used - HEADER, 8);
	return at;
}

static bool prints(void)
{
	return wh_image_may_have(image, used, "vprintf", 1 << 9);
}

static void test_forms(void)
{
	static const unsigned int form[] = { 0, LZ4, ZSTD };
	static const char *const name[][2] = {
		{ "code_that_prints_does", "code_that_does_not_print_does_not" },
		{ "behind_lz4_code_that_prints_does", "behind_lz4_code_that_does_not_does_not" },
		{ "behind_zstd_code_that_prints_does", "behind_zstd_code_that_does_not_does_not" },
	};
	int i;

	for (i = 0; i < 3; i++) {
		begin_fatbin();
		add(PTX, 75, quiet, form[i]);
		add(ELF, 90, quiet, form[i]);
		ok(!prints(), name[i][1]);
		add(ELF, 90, loud, form[i]);
		ok(prints(), name[i][0]);
	}
}

static void test_which(void)
{
	size_t second;

	begin_fatbin();
	add(ELF, 80, loud, ZSTD);
	add(ELF, 120, loud, ZSTD);
	ok(!prints(), "code_for_other_devices_does_not_count");
	ok(wh_image_may_have(image, used, "vprintf", 0), "nor_is_it_known_without_a_device");
	add(PTX, 80, loud, ZSTD);
	ok(prints(), "text_for_other_devices_counts");
	begin_fatbin();
	add(PTX, 75, quiet, ZSTD);
	second = used;
	memcpy(image + second, image, HEADER);
	used += HEADER;
	add(PTX, 75, loud, LZ4);
	put(8, second - HEADER, 8);
	put(second + 8, used - second - HEADER, 8);
	ok(prints(), "a_fatbin_behind_another_one_is_looked_into");
}

/* Spoils one thing in code that does not print. */
static bool spoiled(size_t field, uint64_t v, size_t n, unsigned int how)
{
	begin_fatbin();
	put(add(PTX, 75, quiet, how) + field, v, n);
	return prints();
}

static void test_lies(void)
{
	const uint64_t sizes[] = { 0, 1, 1ULL << 31, 1ULL << 62, UINT64_MAX };
	bool all = true;
	size_t i, cut;

	for (i = 0; i < 5; i++)
		all = all && spoiled(0x38, sizes[i], 8, ZSTD) && spoiled(0x38, sizes[i], 8, LZ4);
	ok(all, "a_size_that_is_none_may_print");
	for (i = 2, all = true; i < 5; i++)
		all = all && spoiled(8, sizes[i], 8, ZSTD) && spoiled(0x10, sizes[i] - 1, 4, LZ4) &&
		      spoiled(4, sizes[i], 4, ZSTD);
	ok(all, "an_entry_that_leaves_the_image_may_print");
	ok(spoiled(0x28, 0x4000, 8, ZSTD), "a_form_that_nobody_knows_may_print");
	ok(spoiled(ENTRY + 9, UINT64_MAX, 8, ZSTD) && spoiled(ENTRY, 0xff, 1, LZ4),
	   "bytes_that_cannot_be_unpacked_may_print");
	begin_fatbin();
	add(PTX, 75, quiet, ZSTD);
	for (cut = used - 1, all = true; cut > HEADER; cut -= cut > 97 ? 31 : 1)
		all = all && wh_image_may_have(image, cut, "vprintf", 0);
	ok(all, "an_image_that_ends_early_may_print");
}

/* An entry has 60 MB of nothing in a few KB, and there are many of them. */
static void test_bombs(void)
{
	const size_t size = 60UL << 20;
	char *nothing = calloc(1, size);
	uint64_t begin;
	size_t at, n;
	int i;

	n = ZSTD_compress(image + HEADER + ENTRY, 1 << 18, nothing, size, 3);
	begin_fatbin();
	for (i = 0; i < 12 && used + ENTRY + n < sizeof(image); i++) {
		at = add(PTX, 75, quiet, ZSTD);
		n = ZSTD_compress(image + at + ENTRY, 1 << 18, nothing, size, 3);
		used = at + ENTRY + n;
		put(at + 8, n, 8);
		put(at + 0x10, n, 4);
		put(at + 0x38, size, 8);
		put(8, used - HEADER, 8);
	}
	begin = wh_now_ns();
	ok(prints(), "what_would_take_too_long_may_print");
	printf("# %d entries of 60 MB in %zu bytes: given up after %llu ms\n", i, used,
	       (unsigned long long)(wh_now_ns() - begin) / 1000000);
	free(nothing);
}

/* --- The use of all this ------------------------------------------------------------------ */

static int waits;

static CUresult my_query(CUstream s)
{
	(void)s;
	return CUDA_SUCCESS;
}

static CUresult my_synchronize(CUstream s)
{
	(void)s;
	waits++;
	return CUDA_SUCCESS;
}

static void upload(struct wh_session *s)
{
	struct wh_req_whUpload *q = request(s, WH_CALL_whUpload, sizeof(*q));

	memcpy(s->data, image, used);
	q->addr = (uintptr_t)s->data;
	q->size = q->total = used;
	send(s, sizeof(*q));
}

static int waits_of_a_wait(struct wh_session *s)
{
	struct wh_req_whWait *q = request(s, WH_CALL_whWait, sizeof(*q));

	q->kind = WH_WAIT_STREAM;
	q->slice_us = 100;
	waits = 0;
	send(s, sizeof(*q));
	return rsp(s)->result ? -1 : waits;
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	size_t i;

	(void)argc;
	srand(7);
	for (i = 0; i < TEXT - 1; i++)
		loud[i] = quiet[i] = "abcdefgh"[rand() % 8];
	memcpy(loud + TEXT / 2, "vprintf", 7);
	tap_plan(18);
	test_forms();
	test_which();
	test_lies();
	test_bombs();
	say_hello(s);
	s->drv.cuStreamQuery = my_query;
	s->drv.cuStreamSynchronize = my_synchronize;
	begin_fatbin();
	add(PTX, 75, quiet, ZSTD);
	upload(s);
	ok(waits_of_a_wait(s) == 0, "after_compressed_code_that_does_not_print_one_look_is_a_wait");
	begin_fatbin();
	add(PTX, 75, loud, ZSTD);
	upload(s);
	ok(waits_of_a_wait(s) == 1, "after_code_that_prints_a_wait_flushes");
	wh_session_close(s);
	return tap_exit();
}
