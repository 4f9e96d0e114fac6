// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises sizes of module images: what the headers claim is sent, and not a
 * byte more. Headers that make no sense are refused before anything is read by them.
 */
#include "tap.h"
#include "stubs.h"

#include <elf.h>

struct wh_client wh_client;

/* --- A worker that gathers the upload ------------------------------------------- */

static uint8_t area[4096], sent[1 << 20], staging[1000];
static size_t sent_size;

void *wh_begin(struct wh_call *c, uint32_t call, size_t size)
{
	(void)call;
	c->rsp = c->msg = area;
	c->size = size;
	return area;
}

CUresult wh_run(struct wh_call *c, size_t fixed)
{
	const struct wh_req_whUpload *q = (const void *)area;

	(void)c;
	(void)fixed;
	memcpy(sent + q->offset, (const void *)q->addr, q->size);
	sent_size = q->offset + q->size;
	return CUDA_SUCCESS;
}

void wh_end(struct wh_call *c)
{
	(void)c;
}

CUresult wh_staging_get(uint8_t **buf, size_t *size)
{
	*size = sizeof(staging);
	*buf = staging;
	return CUDA_SUCCESS;
}

void wh_staging_put(void)
{
}

/* --- Images, each in a block of exactly its size: the sanitizer sees one byte more ------ */

static struct wh_image_part *parts;
static uint32_t kind, count;

static CUresult upload(const void *image)
{
	free(parts);
	sent_size = 0;
	return wh_upload_image(image, &kind, &parts, &count);
}

static void *exact(const void *data, size_t n)
{
	void *p = malloc(n);

	memcpy(p, data, n);
	return p;
}

static void *make_fatbin(uint64_t payload, size_t *size)
{
	uint8_t buf[65536] = { 0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0 };

	memcpy(buf + 8, &payload, 8);
	memset(buf + 16, 'p', payload);
	*size = 16 + payload;
	return exact(buf, *size);
}

static void test_text(void)
{
	char *ptx = exact("//\n.version 8.0\n", 17);

	ok(upload(ptx) == 0 && sent_size == 17 && !memcmp(sent, ptx, 17), "ptx_ends_with_its_nul");
	ok(kind == WH_IMAGE_RAW && count == 1, "ptx_is_one_part");
	free(ptx);
}

static void test_fatbin(void)
{
	struct {
		uint32_t magic, version;
		const void *data;
		const void *const *prelinked;
	} w = { 0x466243b1, 1, NULL, NULL };
	const void *more[3];
	size_t n;
	uint8_t *f = make_fatbin(5000, &n), *g = make_fatbin(77, &n);

	ok(upload(f) == 0 && sent_size == 5016 && !memcmp(sent, f, 5016), "fatbin_ends_where_it_says");
	w.data = f;
	ok(upload(&w) == 0 && kind == WH_IMAGE_WRAPPED && count == 1 && sent_size == 5016,
	   "wrapper_is_followed");
	more[0] = g;
	more[1] = g;
	more[2] = NULL;
	w.version = 2;
	w.prelinked = more;
	ok(upload(&w) == 0 && count == 3 && parts[2].size == 93 &&
	   !memcmp(sent + parts[2].offset, g, 93), "prelinked_images_come_along");
	w.data = NULL;
	ok_eq(upload(&w), CUDA_ERROR_INVALID_IMAGE, "empty_wrapper_is_refused");
	f[4] = 2;
	ok_eq(upload(f), CUDA_ERROR_INVALID_IMAGE, "unknown_fatbin_version_is_refused");
	f[4] = 1;
	memset(f + 8, 0xff, 8);
	ok_eq(upload(f), CUDA_ERROR_INVALID_IMAGE, "fatbin_of_all_memory_is_refused");
	free(f);
	free(g);
}

static void test_elf(void)
{
	struct {
		Elf64_Ehdr e;
		Elf64_Shdr s[2];
		char text[100];
	} img = {
		.e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
		       .e_shoff = sizeof(Elf64_Ehdr), .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shnum = 2 },
		.s = { { .sh_type = SHT_PROGBITS, .sh_size = 100,
			 .sh_offset = offsetof(typeof(img), text) },
		       { .sh_type = SHT_NOBITS, .sh_offset = 1 << 20, .sh_size = 1 << 20 } },
	};
	size_t size = offsetof(typeof(img), text) + 100;
	void *p = exact(&img, size);

	ok(upload(p) == 0 && sent_size == size && !memcmp(sent, &img, size),
	   "elf_ends_with_its_last_section");
	free(p);
	img.s[0].sh_size = 1ULL << 62;
	p = exact(&img, size);
	ok_eq(upload(p), CUDA_ERROR_INVALID_IMAGE, "elf_with_a_huge_section_is_refused");
	free(p);
	img.s[0].sh_size = 100;
	img.e.e_shentsize = 1;
	p = exact(&img, size);
	ok_eq(upload(p), CUDA_ERROR_INVALID_IMAGE, "elf_with_odd_section_headers_is_refused");
	free(p);
}

int main(void)
{
	static const uint8_t junk[64] = { 0x99, 0x98, 0x97 };

	tap_plan(12);
	test_text();
	test_fatbin();
	test_elf();
	ok_eq(upload(junk), CUDA_ERROR_INVALID_IMAGE, "bytes_of_no_known_kind_are_refused");
	free(parts);
	return tap_exit();
}
