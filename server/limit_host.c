// SPDX-License-Identifier: Apache-2.0
/*
 * The limit of host memory: what the driver keeps in place for a tenant's workers,
 * their parts and what programs pin besides. One figure for all devices. Checked
 * and charged under the lock of the tenant's usage, given back without it.
 */
#include "limit_mem.h"

bool wh_host_take(struct wh_session *s, uint64_t bytes)
{
	struct wh_worker_usage *u = s->limits.slot;
	uint64_t quota = __atomic_load_n(&s->limits.page->host_memory, __ATOMIC_ACQUIRE), held;
	bool fits = true;

	if (quota) {
		if (!wh_sums_lock(s))
			return false;
		held = wh_tenant_host_memory(s->limits.usage);
		fits = held <= quota && bytes <= quota - held;
	}
	if (fits)
		__atomic_store_n(&u->host_memory, u->host_memory + bytes, __ATOMIC_RELAXED);
	else
		u->host_refused++;
	if (quota)
		wh_sums_unlock(s);
	return fits;
}

void wh_host_give(struct wh_session *s, uint64_t bytes)
{
	struct wh_worker_usage *u = s->limits.slot;

	__atomic_store_n(&u->host_memory, bytes < u->host_memory ? u->host_memory - bytes : 0,
			 __ATOMIC_RELAXED);
}
