/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session knows of its tenant: the mapped pages, a private copy of the
 * limits, and the states of the two engines. Part of struct wh_session.
 */
#ifndef WORMHOLE_STATE_LIMITS_H
#define WORMHOLE_STATE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "tenant/tenant.h"

struct wh_mem_state;		/* limits/memory.c */
struct wh_sm_state;		/* limits/bucket.c: time */
struct wh_sms_state;		/* limits/sms.c: SMs */
struct wh_ipc;			/* ipc.c */

#define WH_WATCHED_TRACE	(1u << 31)
_Static_assert(WH_TENANT_DEVICES < 31, "a bit for each device, and one for traces");

struct wh_limits {
	/* Never NULL: without a tenant, an empty page and an account of our own. */
	const struct wh_tenant_limits *page;
	struct wh_worker_usage *account;
	struct wh_tenant_usage *usage;		/* NULL: no tenant */
	struct wh_turns *turns;			/* limits/turns.h; NULL: none are kept */
	uint64_t turn_id;			/* account + 1 */
	int own_account;			/* taken by ourselves; -1: by the server */
	uint32_t seen;				/* page->sequence of the copy below */
	uint32_t temporal;			/* bit d: device d has a share of time */
	/*
	 * The same, and WH_WATCHED_TRACE while calls are traced: launches take the slow way.
	 * One word, since each launch looks at it twice.
	 */
	uint32_t watched;
	uint32_t risen;				/* bit d: more is charged than before this call */
	bool kernels;				/* may be charged at their first launch */
	uint64_t ctx;				/* of the last call under a share of time */
	struct wh_device_limit limit[WH_TENANT_DEVICES];
	struct wh_mem_state *mem;		/* NULL: no tenant */
	struct wh_sm_state *sm;			/* NULL: never was limited */
	struct wh_sms_state *sms;
	struct wh_ipc *ipc;			/* NULL: no tenant */
};

/*
 * A lock of the usage file (limits.c). False: a worker of the tenant has kept it for
 * seconds, or what stands there is no lock any more.
 */
bool wh_usage_lock(uint64_t *lock);
void wh_usage_unlock(uint64_t *lock);

#endif
