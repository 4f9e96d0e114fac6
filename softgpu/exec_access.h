/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of a memory instruction, checked and turned to host addresses. */
#ifndef WORMHOLE_SOFTGPU_EXEC_ACCESS_H
#define WORMHOLE_SOFTGPU_EXEC_ACCESS_H

#include "exec_ops.h"

enum access_kind {
	ACCESS_SCATTER,
	ACCESS_LINEAR,		/* all lanes, one after the other */
	ACCESS_UNIFORM,		/* all lanes at one address */
	ACCESS_GROUPS,		/* as access.group says of each 8 lanes */
};

#define GROUP_LANES 8

struct access {
	u64 a[WARP_LANES];	/* relative to base */
	uintptr_t base;
	enum access_kind kind;
	u8 group[WARP_LANES / GROUP_LANES];	/* enum access_kind */
	bool global;		/* others may see it: atomics must be atomic */
};

/* Where lane @l goes, once the access is resolved. */
static inline void *access_at(const struct access *ac, u32 l)
{
	return (void *)(ac->base + (uintptr_t)ac->a[l]);
}

/* @bytes per lane, a power of two. Nonzero: a fault was recorded. */
int OP(access_resolve)(struct warp *w, const struct insn *in, u32 mask,
		       u32 bytes, bool write, struct access *ac);

/* The half sums of atomics (exec_half.c). */
u16 OP(half_sum)(u16 a, u16 b, bool bf16);

#endif
