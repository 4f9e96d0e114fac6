/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares a worker for NCCL's ranks, before it enters its sandbox. */
#ifndef WORMHOLE_RANKS_H
#define WORMHOLE_RANKS_H

#include <stdbool.h>

/* `tcp`: ranks may meet by sockets. */
void wh_ranks_prepare(bool tcp);

#endif
