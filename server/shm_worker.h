/* SPDX-License-Identifier: Apache-2.0 */
/* The worker of one shm client. */
#ifndef WORMHOLE_SHM_WORKER_H
#define WORMHOLE_SHM_WORKER_H

#include <stddef.h>

#include "limits.h"

/*
 * Serve the client at the other end of `conn` until it is gone; the exit status.
 * The descriptors of a tenant are closed once they are mapped.
 */
int wh_shm_serve(int conn, const char *backend, size_t part_size,
		 const struct wh_tenant_files *tenant);

#endif
