/* SPDX-License-Identifier: Apache-2.0 */
/* What bulk copies of all kinds share (async.c). */
#ifndef WORMHOLE_SOFTGPU_EXEC_MBAR_H
#define WORMHOLE_SOFTGPU_EXEC_MBAR_H

#include "ops.h"

/*
 * Reports @size bytes that lane @l has copied to the mbarrier at a shared address. Returns nonzero
 * if it recorded a fault.
 */
int OP(mbar_complete)(struct warp *w, const struct insn *in, u32 l, u64 addr, u32 size);

#endif
