/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks on several threads: what run.c and pool.c need of each other. */
#ifndef WORMHOLE_SOFTGPU_EXEC_POOL_H
#define WORMHOLE_SOFTGPU_EXEC_POOL_H

#include "warp.h"

/* Is a launch worth more than the calling thread? */
bool exec_pool_wanted(const struct exec_machine *m, uint64_t nblocks);

/* Run all blocks of @m's launch; @m is prepared, and so is its memory. */
enum exec_status exec_pool_run(struct exec_machine *m, uint64_t nblocks);

/* Must @m's block stop, because an earlier one has faulted? */
bool exec_pool_stop(const struct exec_machine *m);

/* run.c: checks and memory for one block; then blocks, one at a time. */
enum exec_status exec_prepare(struct exec_machine *m, const struct exec_launch *l);
enum exec_status exec_one_block(struct exec_machine *m, uint64_t index);

#endif
