/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker may still do once a client can run code in it. It has its own uid, no way to more
 * privileges, limits, and only system calls that a CUDA driver needs after its start.
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
	/* for a worker beside its clients: system calls must not reach other processes either */
	bool local;
	/* Except TCP, if the network is a namespace that only the tenant has. */
	bool tcp;
	unsigned int processes;	/* limit of the user's processes, threads counted; 0: unchanged */
	/*
	 * Limits files; its first argument is the backend, whose folder can be read. NULL: no
	 * limit.
	 */
	int (*landlock)(const char *backend, int seats, bool tcp);
	const char *backend;
	int seats;		/* folder whose files may be read (seats.h), or -1 */
};

/* Returns the version of Landlock that this kernel has; 0: none. */
int wh_landlock_version(void);
/* Limits this thread and those that it makes. 0, or -1 with errno. Needs no_new_privs. */
int wh_landlock_enter(const char *backend, int seats, bool tcp);

/* Returns 0, or -1 with one line in err. Only the calling thread may exist or matter. */
int wh_sandbox_enter(const struct wh_sandbox *s, char *err, size_t err_size);

#endif
