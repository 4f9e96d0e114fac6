// SPDX-License-Identifier: Apache-2.0
/*
 * Module images. CUDA takes them by address, without a size. The size follows from the image's
 * own headers (fatbin, ELF) or from its NUL (PTX). Only as much as the headers claim is read
 * and sent; the worker's driver judges the content.
 */
#include "stubs.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define WRAPPER_MAGIC	0x466243b1u
#define FATBIN_MAGIC	0xba55ed50u
#define FATBIN_VERSION	1
#define MAX_IMAGE	(1ULL << 30)

struct wrapper {
	uint32_t magic;
	uint32_t version;
	const void *data;
	const void *const *prelinked;	/* version 2: an array that ends with NULL */
};

struct fatbin {
	uint32_t magic;
	uint16_t version;
	uint16_t header_size;
	uint64_t size;		/* bytes behind this header */
};

/* --- Sizes ------------------------------------------------------------------------- */

static size_t fatbin_size(const void *image)
{
	const struct fatbin *f = image;

	if (f->version != FATBIN_VERSION || f->header_size < sizeof(*f) || f->size > MAX_IMAGE)
		return 0;
	return f->header_size + f->size;
}

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* An ELF image ends with its last table, section or segment. */
static size_t elf_size(const void *image)
{
	const Elf64_Ehdr *e = image;
	size_t n, i;

	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_shoff > MAX_IMAGE ||
	    e->e_phoff > MAX_IMAGE || (e->e_shnum && e->e_shentsize != sizeof(Elf64_Shdr)) ||
	    (e->e_phnum && e->e_phentsize != sizeof(Elf64_Phdr)))
		return 0;
	n = most(e->e_shoff + (size_t)e->e_shnum * sizeof(Elf64_Shdr),
		 e->e_phoff + (size_t)e->e_phnum * sizeof(Elf64_Phdr));
	n = most(n, sizeof(*e));
	for (i = 0; i < e->e_shnum; i++) {
		const Elf64_Shdr *s = (const Elf64_Shdr *)((const char *)image + e->e_shoff) + i;

		if (s->sh_type == SHT_NOBITS)
			continue;
		if (s->sh_offset > MAX_IMAGE || s->sh_size > MAX_IMAGE)
			return 0;
		n = most(n, s->sh_offset + s->sh_size);
	}
	return n > MAX_IMAGE ? 0 : n;
}

/* Returns 0 if it is no image. PTX is text: it starts like text and ends with a NUL. */
static size_t image_size(const void *image)
{
	uint32_t magic;
	uint8_t c;

	memcpy(&c, image, 1);
	if (c == '\t' || c == '\n' || c == '\r' || c == ' ' || c == '.' || c == '/')
		return strlen(image) + 1;
	memcpy(&magic, image, sizeof(magic));
	if (magic == FATBIN_MAGIC)
		return fatbin_size(image);
	if (!memcmp(image, ELFMAG, SELFMAG))
		return elf_size(image);
	return 0;
}

/* --- Upload -------------------------------------------------------------------------- */

static CUresult upload_piece(uint64_t total, uint64_t offset, const void *piece, uint64_t size)
{
	struct wh_req_whUpload *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_whUpload, sizeof(*q));
	if (!q)
		return c.result;
	q->total = total;
	q->offset = offset;
	q->addr = (uintptr_t)piece;
	q->size = size;
	res = wh_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

struct upload {
	uint64_t total, sent;
};

static CUresult send_bytes(struct upload *u, const void *data, size_t size)
{
	CUresult res = CUDA_SUCCESS;
	size_t done, n, room;
	uint8_t *buf;

	for (done = 0; done < size && res == CUDA_SUCCESS; done += n) {
		res = wh_staging_get(&buf, &room);
		if (res != CUDA_SUCCESS)
			return res;
		n = size - done < room ? size - done : room;
		memcpy(buf, (const uint8_t *)data + done, n);
		res = upload_piece(u->total, u->sent, buf, n);
		wh_staging_put();
		u->sent += n;
	}
	return res;
}

CUresult wh_upload(const void *data, size_t size)
{
	struct upload u = { size, 0 };

	return send_bytes(&u, data, size);
}

struct sources {
	const void *part[WH_MAX_IMAGE_PARTS];
	uint32_t n;
};

static CUresult find_parts(const void *image, uint32_t *kind, struct sources *s)
{
	const struct wrapper *w = image;
	uint32_t magic, i;

	memcpy(&magic, image, sizeof(magic));
	s->n = 0;
	*kind = WH_IMAGE_RAW;
	s->part[s->n++] = image;
	if (magic != WRAPPER_MAGIC)
		return CUDA_SUCCESS;
	*kind = WH_IMAGE_WRAPPED;
	s->part[0] = w->data;
	if (w->version == 2 && w->prelinked)
		for (i = 0; w->prelinked[i]; i++) {
			if (s->n == WH_MAX_IMAGE_PARTS)
				return CUDA_ERROR_NOT_SUPPORTED;
			s->part[s->n++] = w->prelinked[i];
		}
	return w->data ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult send_parts(const struct sources *s, const struct wh_image_part *parts)
{
	static const uint8_t zeros[16];
	const struct wh_image_part *last = &parts[s->n - 1];
	struct upload u = { last->offset + last->size, 0 };
	CUresult res = CUDA_SUCCESS;
	uint32_t i;

	for (i = 0; i < s->n && res == CUDA_SUCCESS; i++) {
		if (parts[i].offset != u.sent)
			res = send_bytes(&u, zeros, parts[i].offset - u.sent);
		if (res == CUDA_SUCCESS)
			res = send_bytes(&u, s->part[i], parts[i].size);
	}
	return res;
}

CUresult wh_upload_image(const void *image, uint32_t *kind, struct wh_image_part **parts,
			 uint32_t *count)
{
	struct sources *s = malloc(sizeof(*s));
	uint64_t offset = 0;
	CUresult res;
	uint32_t i;

	*parts = NULL;
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = find_parts(image, kind, s);
	if (res == CUDA_SUCCESS) {
		*parts = calloc(s->n, sizeof(**parts));
		res = *parts ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (i = 0; i < s->n && res == CUDA_SUCCESS; i++) {
		(*parts)[i] = (struct wh_image_part) { offset, image_size(s->part[i]) };
		if (!(*parts)[i].size)
			res = CUDA_ERROR_INVALID_IMAGE;
		offset = (offset + (*parts)[i].size + 15) & ~15ULL;
	}
	if (res == CUDA_SUCCESS)
		res = send_parts(s, *parts);
	*count = s->n;
	free(s);
	return res;
}

/* --- Files ------------------------------------------------------------------------------ */

static CUresult slurp(FILE *f, void **data, size_t *size)
{
	long n;
	char *p;

	if (fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0 || fseek(f, 0, SEEK_SET) ||
	    (unsigned long)n > MAX_IMAGE)
		return CUDA_ERROR_INVALID_IMAGE;
	p = malloc(n + sizeof(Elf64_Ehdr));
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memset(p + n, 0, sizeof(Elf64_Ehdr));
	if (fread(p, 1, n, f) != (size_t)n) {
		free(p);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	*data = p;
	*size = n;
	return CUDA_SUCCESS;
}

CUresult wh_read_file(const char *path, void **data, size_t *size)
{
	CUresult res;
	FILE *f;

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	f = fopen(path, "rb");
	if (!f)
		return errno == ENOENT ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_OPERATING_SYSTEM;
	res = slurp(f, data, size);
	fclose(f);
	return res;
}
