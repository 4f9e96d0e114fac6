/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker does for NCCL's ranks, before it enters its sandbox. */
#ifndef WORMHOLE_RANKS_H
#define WORMHOLE_RANKS_H

#include <stdbool.h>

/* tcp: they may meet by sockets. */
void wh_ranks_prepare(bool tcp);

#endif
