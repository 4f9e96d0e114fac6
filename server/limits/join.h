/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's tenant: the mapped files of tenant.h and the account that this worker writes. How a
 * worker gets the files depends on the kind of worker.
 */
#ifndef WORMHOLE_JOIN_H
#define WORMHOLE_JOIN_H

#include <stddef.h>

#include "loopback.h"
#include "tenant/tenant.h"

/* File descriptors; -1 for none. */
struct wh_tenant_files {
	int limits;		/* NAME.limits, read-only is enough */
	int usage;		/* NAME.usage, read-write */
	/* the folder with the board and the seats (seats.h); -1: no turns */
	int seats;
	int seat;		/* the tenant's own seat, read-write */
	int trace;		/* trace.h, read-write; -1: the tenant cannot be traced */
	/*
	 * number from wh_tenant_account_take(); -1: the session takes an account itself, and clears
	 * those of dead processes
	 */
	int account;
};

#define WH_NO_TENANT	((struct wh_tenant_files){ -1, -1, -1, -1, -1, -1 })

/*
 * Makes the session work for this tenant; call it before the first request. The descriptors may be
 * closed afterwards. Without this call a session has no limits and counts into memory of its own.
 * Returns 0, or -1 with a line in err if a file is not as it should be. wh_session_join_tenant() of
 * loopback.h does the same by name.
 */
int wh_session_set_tenant(struct wh_session *s, const struct wh_tenant_files *f,
			  char *err, size_t err_size);
/* The same by name, with the account that the account's owner has opened. */
int wh_session_join_as(struct wh_session *s, const char *dir_and_name, int account, char *err,
		       size_t err_size);

#endif
