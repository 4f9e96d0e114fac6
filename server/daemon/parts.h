/* SPDX-License-Identifier: Apache-2.0 */
/* The files of memory that clients and workers share, from their start to the last holder's end. */
#ifndef WORMHOLE_DAEMON_PARTS_H
#define WORMHOLE_DAEMON_PARTS_H

#include "daemon/tenants.h"

/* Once, before there is a tenant. False with one line in err. */
bool wh_parts_start(char *err, size_t err_size);
/* A part for the worker of this account: what it and its client get, or -1 with errno. */
int wh_parts_make(struct wh_tenant *t, int account);
/*
 * Which of the tenant's workers that have ended have a part that somebody still has? These
 * are charged to it from then on; what nobody has any more is given back.
 */
void wh_parts_look(struct wh_tenant *t);
/* The tenant's limit of host memory, or how many workers it has, is another. */
void wh_parts_bound(const struct wh_tenant *t);
/* Accounts that are not free although their worker has ended. */
unsigned int wh_parts_kept(const struct wh_tenant *t);
/* A child of this process has ended: was it one that gives a part back? */
bool wh_parts_reap(pid_t pid);
/* The tenant ends. */
void wh_parts_close(struct wh_tenant *t);

#endif
