/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two files of a tenant (tenant.h). Whoever owns the tenants (server, supervisor) makes and
 * writes them, and anybody who may open them reads them. Functions that can fail return 0 or a
 * negative errno.
 */
#ifndef WORMHOLE_TENANT_FILE_H
#define WORMHOLE_TENANT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tenant/tenant.h"

/* --- The owner's side --------------------------------------------------------- */

struct wh_tenant_file {
	struct wh_tenant_limits *limits;
	struct wh_tenant_usage *usage;
	int limits_fd;		/* O_RDONLY, for workers */
	int usage_fd;
};

/*
 * Names have letters, digits, '.', '_', '-', and begin with a letter; they are shorter than
 * WH_TENANT_NAME.
 */
bool wh_tenant_name_ok(const char *name);

int wh_tenant_file_create(struct wh_tenant_file *f, const char *dir, const char *name,
			  uint64_t id, unsigned int devices);
/* Takes over files that are open, as workers have them. */
int wh_tenant_file_take(struct wh_tenant_file *f, int limits_fd, int usage_fd);
/* Unmaps, closes and removes the files. */
void wh_tenant_file_remove(struct wh_tenant_file *f, const char *dir, const char *name);

/*
 * Call this when no worker of the tenant lives: makes the counters' file whole, whatever was done
 * to it, and calls wh_tenant_usage_restart().
 */
int wh_tenant_file_restart(struct wh_tenant_file *f, uint64_t tenant_id);
/* Opens a free account: zeroes it, with its generation counted up. Its pid is still 0. */
void wh_tenant_account_open(struct wh_tenant_usage *u, int account);
/*
 * Gives the account its owner: from now on it counts. The client's process is 0 if it is in
 * another VM.
 */
void wh_tenant_account_own(struct wh_tenant_usage *u, int account, pid_t pid, pid_t client);
/* Notes whose program the client is. Call it before the account has its owner. */
void wh_tenant_account_client(struct wh_tenant_usage *u, int account, pid_t client, uid_t uid);

/* --- Readers -------------------------------------------------------------------- */

/* Maps a tenant's files read-only; -EINVAL for files that are not a tenant's. */
int wh_tenant_file_open(struct wh_tenant_file *f, const char *dir, const char *name);
void wh_tenant_file_close(struct wh_tenant_file *f);
/* Copies the limits while no writer changes them; -EAGAIN if that never succeeded. */
int wh_tenant_limits_read(const struct wh_tenant_limits *l, struct wh_tenant_limits *out);

/* A tenant's use as one figure for each counter. */
struct wh_tenant_sum {
	unsigned int workers;
	/* sum of living and ended workers; memory: only of the living */
	struct wh_worker_usage total;
};

/*
 * Sums up a tenant's use. False: a counter may be missing, because workers ended all the time, or
 * the owner died while it added one up. No counter is ever counted twice.
 */
bool wh_tenant_usage_read(const struct wh_tenant_usage *u, struct wh_tenant_sum *out);
/* Copies the accounts of living workers, packed; returns their number. */
unsigned int wh_tenant_workers_read(const struct wh_tenant_usage *u,
				    struct wh_worker_usage out[WH_TENANT_WORKERS]);

#endif
