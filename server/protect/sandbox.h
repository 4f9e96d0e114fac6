/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker may still do once a client can run code in it: its own uid,
 * no way to more privileges, limits, and no system calls that a CUDA driver
 * does not need after its start.
 */
#ifndef WORMHOLE_SANDBOX_H
#define WORMHOLE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct wh_sandbox {
	uid_t uid;		/* 0: stay as we are */
	gid_t gid;
	int seccomp;		/* filter system calls */
	bool local;		/* of a worker beside its clients: to no other process either */
	/* But for TCP, where the network is a namespace in which there is nobody but its own. */
	bool tcp;
	unsigned int processes;	/* of the user, threads counted; 0: as it is */
	/* NULL: files stay open as they are. With the backend, whose folder can be read. */
	int (*landlock)(const char *backend, int seats, bool tcp);
	const char *backend;
	int seats;		/* folder whose files may be read (seats.h), or -1 */
};

/* The version of Landlock that this kernel has; 0: none. */
int wh_landlock_version(void);
/* For this thread and those that it makes. 0, or -1 with errno. Needs no_new_privs. */
int wh_landlock_enter(const char *backend, int seats, bool tcp);

/* 0, or -1 with one line in err. Only the calling thread may exist or matter. */
int wh_sandbox_enter(const struct wh_sandbox *s, char *err, size_t err_size);

#endif
