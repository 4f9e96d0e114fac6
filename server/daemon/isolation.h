/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps the workers of a tenant from everybody else: a user of their own,
 * a filter of system calls, no way to files, namespaces, a cgroup. What this
 * machine allows is found once, at the start, and said; from then on a worker
 * has all of it or does not start.
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
	WH_PROTECT_MEMORY,	/* cgroup: memory, */
	WH_PROTECT_PROCESSES,	/* number of threads, */
	WH_PROTECT_CPU,		/* equal weight of tenants */
	WH_PROTECTIONS,
};

/* One for each of wh_protection_kind; words that scripts know them by. */
extern struct wh_protection wh_protection[WH_PROTECTIONS];
extern const char *const wh_protection_name[WH_PROTECTIONS];

/* As no uid_t. */
#define WH_NO_UID	((uid_t)-1)

/* A tenant's own. Zero it, or wh_isolation_open() does. */
struct wh_isolation {
	bool open;
	uid_t uid;			/* WH_NO_UID: the server's */
	int user_ns, net_ns, ipc_ns;	/* descriptors; -1: the server's */
	int files_ns, files_root;	/* of mounts; -1: /dev/shm is the machine's */
	char group[64];			/* its cgroup's name; "": none */
};

#define WH_NO_ISOLATION	((struct wh_isolation){ .uid = WH_NO_UID, .user_ns = -1, .net_ns = -1, \
						.ipc_ns = -1, .files_ns = -1, .files_root = -1 })

/* Find out what this machine has, and say it. false: err says what to do. */
bool wh_isolation_start(char *err, size_t err_size);
void wh_isolation_stop(void);
/* Everything that was found; a failure leaves nothing behind. */
bool wh_isolation_open(struct wh_isolation *i, const char *tenant, char *err, size_t err_size);
/*
 * Ends every process of the tenant's user and cgroup, and gives user and cgroup
 * back. A number that some process still has is not given out again.
 */
void wh_isolation_close(struct wh_isolation *i);
/* fork(), into the tenant's cgroup where the kernel can do that at once. */
pid_t wh_isolation_fork(const struct wh_isolation *i);
/* In a child that will be a worker of the tenant. False: err says why, and it must end. */
bool wh_isolation_try(const struct wh_isolation *i, char *err, size_t err_size);
/* The same; says why and exits when it fails. */
void wh_isolation_enter(const struct wh_isolation *i);
/* Bytes of host memory that all processes of the tenant may have; 0: no limit. */
void wh_isolation_memory(const struct wh_isolation *i, uint64_t bytes);
/*
 * May the tenant's workers have sockets to meet by? Only where these lead to each other alone,
 * and to a kernel in which they have no rights. False: err says what is missing.
 */
bool wh_isolation_meets(const struct wh_isolation *i, char *err, size_t err_size);
/* What a worker has to enter by itself, as a number for --protect. */
const char *wh_isolation_protect(bool tcp);
/* Lines "NAME on|off DETAIL", to a FILE. */
void wh_isolation_print(void *file);

/* --- uids.c --------------------------------------------------------------------- */

/* Options are a first number, "none" or NULL: 257 that no other server has. */
bool wh_uids_start(const char *option, struct wh_protection *p, char *err, size_t err_size);
void wh_uids_stop(void);
/* A number that no process has and no other server gives out; WH_NO_UID: none left, or errno. */
uid_t wh_uid_take(void);
/*
 * Kills who has it, and gives it back unless somebody still has it; later, once a child has
 * removed what is its in the machine's /dev/shm.
 */
void wh_uid_give(uid_t uid, bool files);
bool wh_uids_reap(pid_t pid);	/* true: it was that child */
/* In a child: that user, for good. */
bool wh_uid_become(uid_t uid);

/* --- uid_range.c ------------------------------------------------------------------- */

/* Of a range: a number for each tenant, and one that says whose all of them are. */
#define WH_UID_RANGE	(WH_MAX_TENANTS + 1)
/*
 * The first number of the first of so many ranges, one behind the other, that no server
 * has which sees another /run; 0: there is none. file: the locks, or -1.
 */
uid_t wh_uid_range_take(int file, uid_t first, unsigned int ranges);
void wh_uid_range_give(void);
bool wh_uid_range_reap(pid_t pid);	/* true: it was part of this */
/* Has any process this real user? 1, 0, or -1 with errno. */
int wh_uid_had(uid_t uid);

/* --- code_cache.c ---------------------------------------------------------------- */

#define SHARED_FILES	"/dev/shm"
#define WH_CODE_CACHE	SHARED_FILES "/wormhole-code"	/* where that is the tenant's own */
/* In a child: the driver uses it, or no cache. */
bool wh_code_cache_enter(const struct wh_isolation *i);

/* --- namespaces.c ------------------------------------------------------------------ */

/* For i->uid. false: err says why. What is not there is -1. */
bool wh_namespaces_open(struct wh_isolation *i, char *err, size_t err_size);
void wh_namespaces_close(struct wh_isolation *i);
/* In a child. */
bool wh_namespaces_join(const struct wh_isolation *i);

#endif
