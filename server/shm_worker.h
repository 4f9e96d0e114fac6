/* SPDX-License-Identifier: Apache-2.0 */
/* The worker of one shm client. */
#ifndef WORMHOLE_SHM_WORKER_H
#define WORMHOLE_SHM_WORKER_H

#include <stddef.h>
#include <sys/types.h>

#include "session_limits.h"

struct wh_shm_worker {
	int conn;		/* the client */
	pid_t parent;		/* the server, which it does not outlive; 0: not checked */
	const char *backend;
	size_t part_size;
	struct wh_tenant_files tenant;	/* whose limits hold; WH_NO_TENANT: nobody's */
};

/* Serve the client until it is gone; the exit status. */
int wh_shm_serve(const struct wh_shm_worker *w);

#endif
