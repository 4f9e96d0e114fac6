/* SPDX-License-Identifier: Apache-2.0 */
/* The worker of one shm client. */
#ifndef WORMHOLE_DAEMON_WORKER_H
#define WORMHOLE_DAEMON_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "limits/join.h"

/* What a worker enters by itself. */
enum wh_protect {
	WH_WORKER_FILTER = 1,		/* of system calls */
	WH_WORKER_LANDLOCK = 2,		/* of files */
	WH_WORKER_OWN_USER = 4,		/* whose processes can be counted */
	WH_WORKER_TCP = 8,		/* allowed: the network is the tenant's alone */
	WH_PROTECT_ALL = 15,
};

/*
 * Twice: before the backend is loaded, since Landlock holds for a thread and those
 * that it makes, and after (loaded), since a library may open sockets then that it
 * may not later. 0, or -1 with one line in err: then nothing may be served.
 */
int wh_shm_protect(enum wh_protect protect, const char *backend, int seats, bool loaded,
		   char *err, size_t err_size);

struct wh_shm_worker {
	int conn;		/* the client */
	int started;		/* closed when the client is served; -1: nobody waits for that */
	pid_t parent;		/* the server, which it does not outlive; 0: not checked */
	const char *backend;
	int part;		/* the file that is shared: the part, behind it the far area */
	size_t part_size;
	enum wh_protect protect;
	struct wh_tenant_files tenant;	/* whose limits hold; WH_NO_TENANT: nobody's */
};

/* Serve the client until it is gone; the exit status. */
int wh_shm_serve(const struct wh_shm_worker *w);

#endif
