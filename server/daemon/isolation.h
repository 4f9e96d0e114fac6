/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protections that keep the workers of a tenant from everybody else: a user of their own, a
 * filter of system calls, no way to files, namespaces, a cgroup. The server finds once, at its
 * start, what this machine allows, and reports it. From then on a worker has all of it or does not
 * start.
 */
#ifndef WORMHOLE_ISOLATION_H
#define WORMHOLE_ISOLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protect/cgroup.h"

enum wh_protection_kind {
	WH_PROTECT_USER,	/* a user of the tenant's own, uids.c */
	WH_PROTECT_CALLS,	/* seccomp, sandbox.c */
	WH_PROTECT_FILES,	/* Landlock, landlock.c */
	WH_PROTECT_NETWORK,	/* network and IPC namespaces, namespaces.c */
	WH_PROTECT_MEMORY,	/* cgroup: memory */
	WH_PROTECT_PROCESSES,	/* cgroup: number of threads */
	WH_PROTECT_CPU,		/* cgroup: equal weight of tenants */
	WH_PROTECTIONS,
};

/* One entry for each of wh_protection_kind, and the names by which scripts know them. */
extern struct wh_protection wh_protection[WH_PROTECTIONS];
extern const char *const wh_protection_name[WH_PROTECTIONS];

/* No process has this uid. */
#define WH_NO_UID	((uid_t)-1)

/* The protections of one tenant. Zero it; wh_isolation_open() fills it. */
struct wh_isolation {
	bool open;
	uid_t uid;			/* WH_NO_UID: the server's user */
	int user_ns, net_ns, ipc_ns;	/* descriptors; -1: the server's */
	/* mount namespace and its root; -1: /dev/shm is the machine's */
	int files_ns, files_root;
	char group[64];			/* its cgroup's name; "": none */
};

#define WH_NO_ISOLATION	((struct wh_isolation){ .uid = WH_NO_UID, .user_ns = -1, .net_ns = -1, \
						.ipc_ns = -1, .files_ns = -1, .files_root = -1 })

/* A child that asks a vendor's libraries in the server's place, and answers at `fd`. */
struct wh_asked {
	struct wh_isolation as;
	pid_t pid;
	int fd;
};

/*
 * children.c: starts this program as such a child, with the protections of a tenant's worker.
 * False: `err` says why `what` cannot be asked for.
 */
bool wh_asked_start(struct wh_asked *a, char *const argv[], const char *tenant, const char *what,
		    char *err, size_t err_size);
void wh_asked_end(struct wh_asked *a);

/* Finds out what this machine has, and reports it. False: err says what to do. */
bool wh_isolation_start(char *err, size_t err_size);
void wh_isolation_stop(void);
/* Opens every protection that was found for a tenant; a failure leaves nothing behind. */
bool wh_isolation_open(struct wh_isolation *i, const char *tenant, char *err, size_t err_size);
/*
 * Ends every process of the tenant's user and cgroup, and gives user and cgroup back. A number that
 * some process still has is not given out again.
 */
void wh_isolation_close(struct wh_isolation *i);
/* Forks into the tenant's cgroup, if the kernel can do that at once. */
pid_t wh_isolation_fork(const struct wh_isolation *i);
/*
 * Call this in a child that will be a worker of the tenant. False: err says why, and it must end.
 */
bool wh_isolation_try(const struct wh_isolation *i, char *err, size_t err_size);
/* Does the same; if it fails, says why and exits. */
void wh_isolation_enter(const struct wh_isolation *i);
/* Sets how much host memory all processes of the tenant may have, in bytes; 0: no limit. */
void wh_isolation_memory(const struct wh_isolation *i, uint64_t bytes);
/* Returns what its workers had taken and only pipes and sockets still have, in bytes. */
uint64_t wh_isolation_loose(const struct wh_isolation *i);
/*
 * May the tenant's workers have sockets to meet by? They may only if these sockets reach nothing
 * but each other, and if the workers have no rights in the network namespace. False: err says what
 * is missing.
 */
bool wh_isolation_meets(const struct wh_isolation *i, char *err, size_t err_size);
/* Returns what a worker has to enter by itself, as a number for --protect. */
const char *wh_isolation_protect(bool tcp);
/* Prints lines "NAME on|off DETAIL" to a FILE. */
void wh_isolation_print(void *file);

/* Finds the place of tenants' cgroups. The monitor calls this before it has a child. */
void wh_isolation_place(void);

/* --- uids.c --------------------------------------------------------------------- */

/*
 * `option` is a first number, "none", or NULL: then the server chooses 257 numbers that no other
 * server has.
 */
bool wh_uids_start(const char *option, struct wh_protection *p, char *err, size_t err_size);
void wh_uids_stop(void);
/* The state has been saved: other servers may have the users that were given back. */
void wh_uids_saved(void);
/*
 * Takes a number that no process has and no other server gives out. WH_NO_UID: none is left (errno
 * 0), or errno says why.
 */
uid_t wh_uid_take(void);
/*
 * Kills all processes of a user and gives the number back, unless a process still has it. With
 * `files` a child first removes the user's files in the machine's /dev/shm.
 */
void wh_uid_give(uid_t uid, bool files);
bool wh_uids_reap(pid_t pid);	/* true: the process was that child */
bool wh_uids_has(pid_t pid);	/* the same, and it is not over */
/* Call this in a child: it becomes that user, for good. */
bool wh_uid_become(uid_t uid);

/* --- uid_range.c ------------------------------------------------------------------- */

/* Size of a range: a number for each tenant, and one that marks whose range it is. */
#define WH_UID_RANGE	(WH_MAX_TENANTS + 1)
/*
 * Returns the first number of a range that no server with another /run uses. `ranges` ranges, one
 * behind the other, begin at `first`. 0: there is none (errno 0), or errno says why not. `file`
 * holds the locks, or is -1.
 */
uid_t wh_uid_range_take(int file, uid_t first, unsigned int ranges);
void wh_uid_range_give(void);
bool wh_uid_range_reap(pid_t pid);	/* true: the process belonged to this */
bool wh_uid_range_has(pid_t pid);	/* the same, and it is not over */
/* Has any process this real user? 1, 0, or -1 with errno. */
int wh_uid_had(uid_t uid);

/* --- code_cache.c ---------------------------------------------------------------- */

#define SHARED_FILES	"/dev/shm"
#define WH_CODE_CACHE	SHARED_FILES "/wormhole-code"	/* if /dev/shm is the tenant's own */
/* Call this in a child: the driver then uses this cache, or none. */
bool wh_code_cache_enter(const struct wh_isolation *i);

/* --- namespaces.c ------------------------------------------------------------------ */

/* Opens namespaces for i->uid. False: err says why. A namespace that is not made is -1. */
bool wh_namespaces_open(struct wh_isolation *i, char *err, size_t err_size);
void wh_namespaces_close(struct wh_isolation *i);
/* Call this in a child. */
bool wh_namespaces_join(const struct wh_isolation *i);

#endif
