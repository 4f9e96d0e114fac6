/* SPDX-License-Identifier: Apache-2.0 */
/* The worker of one shm client. */
#ifndef WORMHOLE_SHM_WORKER_H
#define WORMHOLE_SHM_WORKER_H

#include <stddef.h>

/* Serve the client at the other end of `conn` until it is gone; the exit status. */
int wh_shm_serve(int conn, const char *backend, size_t part_size);

#endif
