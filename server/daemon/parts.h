/* SPDX-License-Identifier: Apache-2.0 */
/* The files of memory that clients and workers share, until their last holder ends. */
#ifndef WORMHOLE_DAEMON_PARTS_H
#define WORMHOLE_DAEMON_PARTS_H

#include "daemon/tenant.h"

/* Call this once, before there is a tenant. False with one line in err. */
bool wh_parts_start(char *err, size_t err_size);
/*
 * Makes a part for the worker of this account. Returns the descriptor that it and its client get,
 * or -1 with errno.
 */
int wh_parts_make(struct wh_tenant *t, int account);
/*
 * Looks at parts of the tenant's workers that have ended. A part that somebody still has is charged
 * to the tenant from then on; one that nobody has any more is given back.
 */
void wh_parts_look(struct wh_tenant *t);
/* The same at the end of a worker, and soon again: its client ends after it. */
void wh_parts_worker_ended(struct wh_tenant *t);
/* Call this when the tenant's limit of host memory, or the number of its workers, has changed. */
void wh_parts_bound(struct wh_tenant *t);
/* Returns how many accounts are not free although their workers have ended. */
unsigned int wh_parts_kept(const struct wh_tenant *t);
/* A child of this process has ended. Returns true if it was one that gives a part back. */
bool wh_parts_reap(pid_t pid);
/* Call this when the tenant ends. */
void wh_parts_close(struct wh_tenant *t);

#endif
