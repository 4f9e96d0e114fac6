/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the addresses of a memory instruction and turns them into host addresses. */
#ifndef WORMHOLE_SOFTGPU_EXEC_ACCESS_H
#define WORMHOLE_SOFTGPU_EXEC_ACCESS_H

#include "ops.h"

/* Returns the host address of lane @l. access_resolve() must have succeeded before. */
static inline void *access_at(const struct access *ac, u32 l)
{
	return (void *)(ac->base + (uintptr_t)ac->a[l]);
}

/* Resolves @bytes per lane, a power of two. Returns nonzero if it recorded a fault. */
int OP(access_resolve)(struct warp *w, const struct insn *in, u32 mask,
		       u32 bytes, bool write, struct access *ac);

/* Adds two half floats, for atomics (half.c). */
u16 OP(half_sum)(u16 a, u16 b, bool bf16);

#endif
