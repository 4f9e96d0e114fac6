/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What softgpu puts into a CUtensorMap, whose contents cuda.h leaves to the driver. Programs can
 * write there whatever they like, so exec_tensor copies a map and checks it at each use.
 */
#ifndef WORMHOLE_SOFTGPU_EXEC_TENSORMAP_H
#define WORMHOLE_SOFTGPU_EXEC_TENSORMAP_H

#include <stdint.h>

#define TENSORMAP_DIMS	5
#define TENSORMAP_MAGIC	0x50414d524f534e54ull	/* "TNSORMAP" */

enum tensormap_fill { TENSORMAP_ZEROS, TENSORMAP_NANS };

struct exec_tensormap {
	uint64_t magic;
	uint64_t address;
	uint64_t stride[TENSORMAP_DIMS - 1];	/* bytes between elements, from dimension 1 on */
	uint32_t last[TENSORMAP_DIMS];	/* number of elements less one */
	uint16_t box[TENSORMAP_DIMS];	/* elements that a box spans, 1 to 256 */
	uint8_t step[TENSORMAP_DIMS];	/* each of so many elements is in the box, 1 to 8 */
	uint8_t rank;			/* 1 to 5 */
	uint8_t bytes;			/* of an element: 1, 2, 4, 8 */
	uint8_t swizzle;		/* 0 none, 1 32, 2 64, 3 128 bytes */
	uint8_t fill;			/* enum tensormap_fill: what is beyond the tensor */
	uint8_t pad[41];
};

_Static_assert(sizeof(struct exec_tensormap) == 128, "a CUtensorMap has 128 bytes");

#endif
