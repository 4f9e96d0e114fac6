/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session knows about its tenant: the mapped pages, a private copy of the limits, and the
 * states of the engines of limits. Part of struct wh_session.
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
struct wh_paged;		/* paged.c */

#define WH_WATCHED_TRACE	(1u << 31)
_Static_assert(WH_TENANT_DEVICES < 31, "a bit for each device, and one for traces");

struct wh_limits {
	/*
	 * These are never NULL: without a tenant there are an empty page and an account of our own.
	 */
	const struct wh_tenant_limits *page;
	struct wh_worker_usage *account;
	struct wh_tenant_usage *usage;		/* NULL: no tenant */
	struct wh_turns *turns;			/* limits/turns.h; NULL: there are no turns */
	uint64_t turn_id;			/* account + 1 */
	/* account that the session took itself; -1: the server took it */
	int own_account;
	uint32_t seen;				/* page->sequence of the copy below */
	uint32_t temporal;			/* bit d: device d has a share of time */
	/*
	 * The bits of `temporal`, and WH_WATCHED_TRACE while calls are traced: then launches take
	 * the slow path. It is one word, since each launch looks at it twice.
	 */
	uint32_t watched;
	/* bit d: more is charged on device d than before this call */
	uint32_t risen;
	bool kernels;				/* kernels may be charged at their first launch */
	uint64_t ctx;				/* context of the last call under a share of time */
	struct wh_device_limit limit[WH_TENANT_DEVICES];
	struct wh_mem_state *mem;		/* NULL: no tenant */
	struct wh_sm_state *sm;			/* NULL: there never was a limit */
	struct wh_sms_state *sms;
	struct wh_ipc *ipc;			/* NULL: no tenant */
	struct wh_paged *paged;			/* NULL: no server that parks tenants */
};

/*
 * Takes a lock of the usage file (limits/usage_lock.c). False: a worker of the tenant has kept it
 * for seconds, or the memory holds no lock any more.
 */
bool wh_usage_lock(uint64_t *lock);
void wh_usage_unlock(uint64_t *lock);

#endif
