// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the PTX texts of a code image: PTX itself, a fatbin, or the wrapper that compilers
 * put around fatbins. Machine code for a real GPU is skipped. The texts of one fatbin are
 * the same program for different devices. The fatbins that a linked program lists are parts
 * of one program, so they are joined. Every size and offset of an image is checked against
 * the memory that holds it. A broken entry makes the whole image invalid.
 */
#include <elf.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "driver.h"

#define WRAPPER_MAGIC	0x466243b1u
#define FATBIN_MAGIC	0xba55ed50u
#define ELF_MAGIC	0x464c457fu
#define MAX_TEXT	(256u << 20)
#define MAX_PRELINKED	1024u
#define LZ4_MAX_RATIO	256u

struct wrapper {
	uint32_t magic;
	uint32_t version;	/* 2: @extra is an array of fatbins to link */
	const void *data;
	const void *extra;
};

struct fatbin {
	uint32_t magic;
	uint16_t version;
	uint16_t header;
	uint64_t size;		/* bytes of all entries */
};

struct entry {
	uint16_t kind;		/* 1 PTX, 2 ELF */
	uint16_t unused0;
	uint32_t header;
	uint64_t padded;	/* bytes of the payload in the file */
	uint32_t packed;	/* bytes of a compressed payload; 0 = not compressed */
	uint32_t unused1;
	uint16_t minor, major;
	uint32_t sm;
	uint32_t name, name_len;
	uint64_t flags;
	uint64_t unused2;
	uint64_t size;		/* bytes of the text, if it is compressed */
};

enum { KIND_PTX = 1 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };

_Static_assert(sizeof(struct wrapper) == 24, "fatbin wrapper");
_Static_assert(sizeof(struct fatbin) == 16, "fatbin header");
_Static_assert(sizeof(struct entry) == 0x40, "fatbin entry");

/* Skips blanks and comments. Returns NULL if a comment has no end. */
static const char *skip(const char *p, const char *end)
{
	for (;;) {
		while (p < end && strchr(" \t\r\n", *p))
			p++;
		if (end - p >= 2 && p[0] == '/' && p[1] == '/')
			p = memchr(p, '\n', end - p);
		else if (end - p >= 2 && p[0] == '/' && p[1] == '*')
			p = strstr(p + 2, "*/");
		else
			return p;
		if (!p)
			return NULL;
		p += *p == '*' ? 2 : 1;
	}
}

/*
 * Returns the version times 10 with which PTX starts, or 0 if it is not PTX. @text ends
 * with NUL.
 */
static unsigned int ptx_version(const char *text, size_t len)
{
	const char *p = skip(text, text + len);
	unsigned int major, minor;

	if (!p || sscanf(p, ".version %3u.%1u", &major, &minor) != 2)
		return 0;
	return 10 * major + minor;
}

CUresult sgpu_images_add(struct sgpu_images *images,
			 const struct sgpu_image *image)
{
	if (images->n == images->room) {
		unsigned int room = images->room ? 2 * images->room : 8;
		void *grown = realloc(images->image,
				      room * sizeof(*images->image));

		if (!grown) {
			free(image->text);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		images->image = grown;
		images->room = room;
	}
	images->image[images->n++] = *image;
	return CUDA_SUCCESS;
}

void sgpu_images_free(struct sgpu_images *images)
{
	while (images->n)
		free(images->image[--images->n].text);
	free(images->image);
	*images = (struct sgpu_images){ 0 };
}

/*
 * The context is made once. A new one executes CPUID to see what the processor can do,
 * which is an exit in a virtual machine. The driver's lock protects it.
 */
static ZSTD_DCtx *zstd;

/* Makes the context early, so that the first image finds it. */
void sgpu_fatbin_init(void)
{
	if (!zstd)
		zstd = ZSTD_createDCtx();
}

static CUresult unpack(const struct entry *e, const char *payload, char *text)
{
	size_t n;

	if (e->flags & FLAG_ZSTD) {
		if (!zstd)
			zstd = ZSTD_createDCtx();
		if (!zstd)
			return CUDA_ERROR_OUT_OF_MEMORY;
		n = ZSTD_decompressDCtx(zstd, text, e->size, payload,
					e->packed);
		if (ZSTD_isError(n))
			return CUDA_ERROR_INVALID_IMAGE;
	} else if (e->flags & FLAG_LZ4) {
		int got = LZ4_decompress_safe(payload, text, e->packed,
					      e->size);

		if (got < 0)
			return CUDA_ERROR_INVALID_IMAGE;
		n = got;
	} else {
		sgpu_log("a fatbin entry has an unknown compression: flags %#llx",
			 (unsigned long long)e->flags);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	return n == e->size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

/* Checks before memory is allocated that so few compressed bytes can hold so much text. */
static bool plausible(const struct entry *e, const char *payload)
{
	if (!e->packed)
		return true;
	if (e->flags & FLAG_ZSTD)
		return ZSTD_getFrameContentSize(payload, e->packed) == e->size;
	return e->size <= (uint64_t)e->packed * LZ4_MAX_RATIO;
}

static CUresult add_text(struct sgpu_images *out, const struct entry *e,
			 const char *payload, unsigned int part)
{
	size_t len = e->packed ? e->size : e->padded;
	CUresult rc = CUDA_SUCCESS;
	char *text;

	if (len > MAX_TEXT || e->packed > e->padded || !plausible(e, payload))
		return CUDA_ERROR_INVALID_IMAGE;
	text = malloc(len + 1);
	if (!text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (e->packed)
		rc = unpack(e, payload, text);
	else
		memcpy(text, payload, len);
	if (rc) {
		free(text);
		return rc;
	}
	text[len] = '\0';
	len = strlen(text);
	return sgpu_images_add(out, &(struct sgpu_image){
		.text = text, .len = len, .target = e->sm, .part = part,
		.version = ptx_version(text, len) });
}

static CUresult walk_entries(const char *p, uint64_t left, unsigned int part,
			     struct sgpu_images *out)
{
	while (left) {
		struct entry e;
		CUresult rc;

		if (left < sizeof(e))
			return CUDA_ERROR_INVALID_IMAGE;
		memcpy(&e, p, sizeof(e));
		if (e.header < sizeof(e) || e.header > left ||
		    e.padded > left - e.header)
			return CUDA_ERROR_INVALID_IMAGE;
		if (e.kind == KIND_PTX && e.sm <= sgpu_target()) {
			rc = add_text(out, &e, p + e.header, part);
			if (rc)
				return rc;
		} else if (e.kind == KIND_PTX) {
			out->passed = e.sm;
		}
		p += e.header + e.padded;
		left -= e.header + e.padded;
	}
	return CUDA_SUCCESS;
}

static CUresult walk_fatbin(const void *data, size_t size, unsigned int part,
			    struct sgpu_images *out)
{
	struct fatbin f;

	if (size < sizeof(f))
		return CUDA_ERROR_INVALID_IMAGE;
	memcpy(&f, data, sizeof(f));
	if (f.magic != FATBIN_MAGIC || f.header < sizeof(f) ||
	    f.header > size || f.size > size - f.header)
		return CUDA_ERROR_INVALID_IMAGE;
	return walk_entries((const char *)data + f.header, f.size, part, out);
}

/* A wrapper holds pointers, so it is always in memory and never from a file. */
static CUresult walk_wrapper(const void *data, struct sgpu_images *out)
{
	const void *const *prelinked;
	struct wrapper w;
	CUresult rc;

	memcpy(&w, data, sizeof(w));
	if (!w.data || w.version < 1 || w.version > 2)
		return CUDA_ERROR_INVALID_IMAGE;
	rc = walk_fatbin(w.data, SIZE_MAX, 0, out);
	/* An image that is linked already needs no parts. */
	prelinked = w.version == 2 && !out->n ? w.extra : NULL;
	for (unsigned int i = 0; !rc && prelinked && prelinked[i]; i++)
		rc = i < MAX_PRELINKED ?
		     walk_fatbin(prelinked[i], SIZE_MAX, i + 1, out) :
		     CUDA_ERROR_INVALID_IMAGE;
	return rc;
}

static CUresult take_text(const char *text, size_t size,
			  struct sgpu_images *out)
{
	size_t len = size == SIZE_MAX ? strlen(text) : strnlen(text, size);
	unsigned int version;
	char *copy;

	if (len > MAX_TEXT)
		return CUDA_ERROR_INVALID_IMAGE;
	copy = malloc(len + 1);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(copy, text, len);
	copy[len] = '\0';
	version = ptx_version(copy, len);
	if (!version) {
		free(copy);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	return sgpu_images_add(out, &(struct sgpu_image){
		.text = copy, .len = len, .version = version });
}

/* An ELF file holds machine code and no PTX text. */
static CUresult walk_elf(const char *data, size_t size)
{
	Elf64_Ehdr elf;

	if (size < sizeof(elf))
		return CUDA_ERROR_INVALID_IMAGE;
	memcpy(&elf, data, sizeof(elf));
	return elf.e_machine == EM_CUDA ? CUDA_SUCCESS :
					  CUDA_ERROR_INVALID_IMAGE;
}

static int by_target(const void *a, const void *b)
{
	const struct sgpu_image *x = a, *y = b;

	return (x->target < y->target) - (x->target > y->target);
}

/* Sorts the texts of one part together, the best one first. */
static int by_part(const void *a, const void *b)
{
	const struct sgpu_image *x = a, *y = b;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return by_target(a, b);
}

/* Keeps the best text of each part, and joins these texts into one. */
static CUresult join_parts(struct sgpu_images *images)
{
	struct sgpu_images best = { 0 };
	struct sgpu_image joined;
	CUresult rc = CUDA_SUCCESS;

	qsort(images->image, images->n, sizeof(images->image[0]), by_part);
	for (unsigned int i = 0; !rc && i < images->n; i++) {
		struct sgpu_image *image = &images->image[i];

		if (i && image[-1].part == image->part)
			continue;
		rc = sgpu_images_add(&best, image);
		image->text = NULL;	/* the list owns it now */
	}
	if (!rc)
		rc = sgpu_join(best.image, best.n, &joined);
	sgpu_images_free(&best);
	sgpu_images_free(images);
	return rc ? rc : sgpu_images_add(images, &joined);
}

static bool has_parts(const struct sgpu_images *images)
{
	for (unsigned int i = 1; i < images->n; i++)
		if (images->image[i].part != images->image[0].part)
			return true;
	return false;
}

static CUresult walk(const void *data, size_t size, struct sgpu_images *out)
{
	char first[4] = "";
	uint32_t magic;

	/* A shorter text ends with its NUL. Bytes after it must not be read. */
	for (size_t i = 0; i < 4 && i < size; i++) {
		first[i] = ((const char *)data)[i];
		if (!first[i])
			break;
	}
	memcpy(&magic, first, sizeof(magic));
	if (magic == WRAPPER_MAGIC)
		return size == SIZE_MAX ? walk_wrapper(data, out) :
					  CUDA_ERROR_INVALID_IMAGE;
	if (magic == FATBIN_MAGIC)
		return walk_fatbin(data, size, 0, out);
	if (magic == ELF_MAGIC)
		return walk_elf(data, size);
	return take_text(data, size, out);
}

/* Says what the image has instead of PTX that runs. */
static void log_passed(const struct sgpu_images *images)
{
	if (images->passed)
		sgpu_log("the image's PTX is for sm_%u, newer than this device's sm_%u "
			 "(WORMHOLE_SOFTGPU_CAPABILITY)", images->passed, sgpu_target());
	else
		sgpu_log("the image has no PTX, which is all that softgpu runs");
}

CUresult sgpu_images_find(const void *data, size_t size,
			  struct sgpu_images *out)
{
	CUresult rc;

	*out = (struct sgpu_images){ 0 };
	rc = walk(data, size, out);
	if (!rc && !out->n) {
		log_passed(out);
		rc = CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	if (!rc && has_parts(out))
		rc = join_parts(out);
	if (!rc)
		qsort(out->image, out->n, sizeof(out->image[0]), by_target);
	if (rc)
		sgpu_images_free(out);
	return rc;
}

CUresult sgpu_file_read(const char *path, char **data, size_t *size)
{
	FILE *f = fopen(path, "rb");
	CUresult rc = CUDA_ERROR_FILE_NOT_FOUND;
	long end;

	*data = NULL;
	if (!f)
		return rc;
	if (!fseek(f, 0, SEEK_END) && (end = ftell(f)) >= 0 &&
	    !fseek(f, 0, SEEK_SET)) {
		*data = malloc(end + 1);
		rc = CUDA_ERROR_OUT_OF_MEMORY;
		if (*data) {
			*size = fread(*data, 1, end, f);
			(*data)[*size] = '\0';
			rc = CUDA_SUCCESS;
		}
	}
	fclose(f);
	return rc;
}
