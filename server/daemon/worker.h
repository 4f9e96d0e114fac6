/* SPDX-License-Identifier: Apache-2.0 */
/* The worker of one shm client. */
#ifndef WORMHOLE_DAEMON_WORKER_H
#define WORMHOLE_DAEMON_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "limits/join.h"

/* The protections that a worker enters by itself. */
enum wh_protect {
	WH_WORKER_FILTER = 1,		/* filter of system calls */
	WH_WORKER_LANDLOCK = 2,		/* limits access to files */
	WH_WORKER_OWN_USER = 4,		/* its processes can be counted */
	WH_WORKER_TCP = 8,		/* TCP is allowed: the network is the tenant's alone */
	WH_PROTECT_ALL = 15,
};

/*
 * Call this twice: before the backend is loaded, since Landlock holds for a thread and those that
 * it makes; and after it (`loaded`), since a library may open sockets while it loads that it may
 * not open later. 0, or -1 with one line in err: then nothing may be served.
 */
int wh_shm_protect(enum wh_protect protect, const char *backend, int seats, bool loaded,
		   char *err, size_t err_size);

struct wh_shm_worker {
	int conn;		/* the client */
	int lent;		/* the client's files come here (lend.h); -1: none do */
	int started;		/* closed when the client is served; -1: nobody waits for that */
	pid_t parent;		/* the server, with which the worker ends; 0: not checked */
	const char *backend;
	int part;		/* the shared file: the part, and behind it the far area */
	size_t part_size;
	enum wh_protect protect;
	struct wh_tenant_files tenant;	/* the tenant whose limits hold; WH_NO_TENANT: no limits */
};

/*
 * From now on this process says where it crashes, as one line on the standard error that it
 * has now. Call it once, before wh_shm_protect(): it may load a library.
 */
void wh_crashes_say(void);

/* Serves the client until it is gone; returns the exit status. */
int wh_shm_serve(const struct wh_shm_worker *w);

#endif
