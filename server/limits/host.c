// SPDX-License-Identifier: Apache-2.0
/*
 * The limit of host memory: memory that the driver keeps in place for a tenant's workers, their
 * parts, and what programs pin besides. There is one figure for all devices. It is checked and
 * charged under the lock of the tenant's usage, and given back without the lock.
 */
#include "limits/memory.h"

/* Returns the memory of workers that have ended that their programs still have. */
static uint64_t kept(const struct wh_session *s)
{
	return __atomic_load_n(&s->limits.page->host_kept, __ATOMIC_ACQUIRE);
}

bool wh_host_take(struct wh_session *s, uint64_t bytes)
{
	struct wh_worker_usage *u = s->limits.account;
	uint64_t quota = __atomic_load_n(&s->limits.page->host_memory, __ATOMIC_ACQUIRE), held;
	bool fits = true;

	if (quota) {
		if (!wh_sums_lock(s))
			return false;
		held = wh_tenant_host_memory(s->limits.usage);
		if (__builtin_add_overflow(held, kept(s), &held))
			held = UINT64_MAX;
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
	struct wh_worker_usage *u = s->limits.account;

	__atomic_store_n(&u->host_memory, bytes < u->host_memory ? u->host_memory - bytes : 0,
			 __ATOMIC_RELAXED);
}

/* --- Memory that would evade the limit ------------------------------------------------ */

/*
 * Refuses memory that the driver would make on the host, or move there. No limit knows of it, and
 * over shm and vmfunc no processor of the client reaches it. Programs have cuMemHostAlloc() and
 * cuMemAllocManaged(), which the client library serves. A location that is not valid is left to the
 * driver to refuse.
 */
CUresult wh_only_device_memory(const CUmemLocation *where, CUmemAllocationType type)
{
	return (where->type != CU_MEM_LOCATION_TYPE_DEVICE &&
		where->type != CU_MEM_LOCATION_TYPE_INVALID) ||
	       type == CU_MEM_ALLOCATION_TYPE_MANAGED ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}
