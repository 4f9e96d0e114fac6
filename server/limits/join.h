/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's tenant: the mapped files of tenant.h and the account that this
 * worker writes. How the files got here is the kind of worker's business.
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
	int seats;		/* the folder of the board and the seats (seats.h); -1: no turns */
	int seat;		/* the tenant's own, read-write */
	int trace;		/* trace.h, read-write; -1: it cannot be traced */
	int account;		/* of wh_tenant_account_take(); -1: the session takes one, and
				   clears those of dead processes */
};

#define WH_NO_TENANT	((struct wh_tenant_files){ -1, -1, -1, -1, -1, -1 })

/*
 * The session works for this tenant from now on; call it before the first
 * request. The descriptors may be closed afterwards. Without it a session has no
 * limits and counts into memory of its own. 0, or -1 with a line in err when a
 * file is not what it should be. By name: wh_session_join_tenant() of loopback.h.
 */
int wh_session_set_tenant(struct wh_session *s, const struct wh_tenant_files *f,
			  char *err, size_t err_size);
/* The same by name, with the account that its owner has opened. */
int wh_session_join_as(struct wh_session *s, const char *dir_and_name, int account, char *err,
		       size_t err_size);

#endif
