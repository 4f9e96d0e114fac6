/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of blocks on several threads: the interface between run.c and pool.c. */
#ifndef WORMHOLE_SOFTGPU_EXEC_POOL_H
#define WORMHOLE_SOFTGPU_EXEC_POOL_H

#include "warp.h"

/* Returns true if other threads would make a launch faster. */
bool exec_pool_wanted(const struct exec_machine *m, uint64_t nclusters);

/* Runs all clusters of @m's launch. @m and its memory must be prepared. */
enum exec_status exec_pool_run(struct exec_machine *m, uint64_t nclusters);

/* Returns true if @m's cluster must stop, because an earlier one has faulted. */
bool exec_pool_stop(const struct exec_machine *m);

/* run.c: exec_prepare() checks and makes room for one cluster; exec_one_cluster() runs one. */
enum exec_status exec_prepare(struct exec_machine *m, const struct exec_launch *l);
enum exec_status exec_one_cluster(struct exec_machine *m, uint64_t index);

#endif
