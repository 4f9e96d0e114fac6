/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two files of a tenant (tenant.h): made and written by whoever owns the
 * tenants (server, supervisor), read by anybody who may open them. Functions
 * that can fail return 0 or a negative errno.
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

/* Letters, digits, '.', '_', '-', a letter first; short enough. */
bool wh_tenant_name_ok(const char *name);

int wh_tenant_file_create(struct wh_tenant_file *f, const char *dir, const char *name,
			  uint64_t id, unsigned int devices);
/* Unmaps, closes and removes. */
void wh_tenant_file_remove(struct wh_tenant_file *f, const char *dir, const char *name);

/*
 * No worker of the tenant lives: the counters' file is whole, whatever was made of it, and
 * wh_tenant_usage_restart() is done.
 */
int wh_tenant_file_restart(struct wh_tenant_file *f, uint64_t tenant_id);
/* An account that is free: zeroed, with its generation counted up. Its pid is still 0. */
void wh_tenant_account_open(struct wh_tenant_usage *u, int account);
/* From now on it counts. */
void wh_tenant_account_own(struct wh_tenant_usage *u, int account, pid_t pid, pid_t client);

/* --- Readers -------------------------------------------------------------------- */

/* Map a tenant's files read-only; -EINVAL for files that are no tenant's. */
int wh_tenant_file_open(struct wh_tenant_file *f, const char *dir, const char *name);
void wh_tenant_file_close(struct wh_tenant_file *f);
/* A copy of the limits that no writer tore; -EAGAIN when none could be had. */
int wh_tenant_limits_read(const struct wh_tenant_limits *l, struct wh_tenant_limits *out);

/* A tenant's use as one figure for each counter. */
struct wh_tenant_sum {
	unsigned int workers;
	struct wh_worker_usage total;	/* living and ended; memory: of the living */
};

/*
 * false: a counter may be missing, because workers ended all the time, or the
 * owner died while it added one up; never is one counted twice.
 */
bool wh_tenant_usage_read(const struct wh_tenant_usage *u, struct wh_tenant_sum *out);
/* The accounts of living workers, packed; their number. */
unsigned int wh_tenant_workers_read(const struct wh_tenant_usage *u,
				    struct wh_worker_usage out[WH_TENANT_WORKERS]);

#endif
