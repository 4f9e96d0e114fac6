/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of a memory instruction, checked and turned to host addresses. */
#ifndef WORMHOLE_SOFTGPU_EXEC_ACCESS_H
#define WORMHOLE_SOFTGPU_EXEC_ACCESS_H

#include "ops.h"

/* Where lane @l goes, once the access is resolved. */
static inline void *access_at(const struct access *ac, u32 l)
{
	return (void *)(ac->base + (uintptr_t)ac->a[l]);
}

/* @bytes per lane, a power of two. Nonzero: a fault was recorded. */
int OP(access_resolve)(struct warp *w, const struct insn *in, u32 mask,
		       u32 bytes, bool write, struct access *ac);

/* The half sums of atomics (half.c). */
u16 OP(half_sum)(u16 a, u16 b, bool bf16);

#endif
