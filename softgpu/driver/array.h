/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays: rows and planes of elements in device memory that only copies and texture fetches
 * can reach. Each level of a mipmapped array is an array of its own, in a part of one
 * common block.
 */
#ifndef WORMHOLE_SOFTGPU_ARRAY_H
#define WORMHOLE_SOFTGPU_ARRAY_H

#include "driver.h"

#define SGPU_MAX_LINE	131072	/* elements of an array with one dimension */
#define SGPU_MAX_WIDTH	131072	/* the same with two dimensions */
#define SGPU_MAX_HEIGHT	65536
#define SGPU_MAX_BOX	16384	/* the same with three dimensions, on each axis */
#define SGPU_MAX_LAYERED 32768	/* the same of a layer, on each axis */
#define SGPU_MAX_LAYERS	2048
#define SGPU_MAX_CUBE	32768	/* the same of a face of a cube */
#define SGPU_MAX_FACES	2046	/* of all cubes of an array */
#define SGPU_MAX_LEVELS	18	/* a mipmap of the largest extent, 131,072, has so many */

struct sgpu_array {
	struct sgpu_obj obj;
	struct sgpu_ctx *ctx;
	CUDA_ARRAY3D_DESCRIPTOR d;
	uint64_t base;
	size_t element, pitch;		/* bytes of an element, of a row */
	size_t rows, planes;		/* at least 1 each */
	bool level;			/* the memory belongs to a mipmapped array */
};

struct sgpu_mipmap {
	struct sgpu_obj obj;
	struct sgpu_ctx *ctx;
	uint64_t base;
	unsigned int levels;
	struct sgpu_array *level[SGPU_MAX_LEVELS];
};

/* A texture (with sampling) or a surface. Its number is the address of its slot. */
struct sgpu_texture {
	struct sgpu_obj obj;
	struct sgpu_ctx *ctx;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC sampling;
	CUDA_RESOURCE_VIEW_DESC view;
	bool viewed;
	/* texref.c: the object of a reference. `slot`: its variable; NULL: it is none. */
	uint64_t *slot;
	struct sgpu_module *mod;
	CUarray_format format;
	unsigned int channels;
};

/* Checks what a texture or a surface is made of. */
CUresult sgpu_resource_ok(const CUDA_RESOURCE_DESC *r);

/* Returns the bytes of one channel, or 0 for a format that is not supported. */
size_t sgpu_format_bytes(CUarray_format format);
/* Finds the address of byte x of row y of plane z, if a box that starts there fits. */
CUresult sgpu_array_place(const struct sgpu_array *a, size_t x, size_t y, size_t z, size_t width,
			  size_t height, size_t depth, uint64_t *addr);

#endif
