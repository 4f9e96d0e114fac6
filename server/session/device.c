// SPDX-License-Identifier: Apache-2.0
/*
 * Devices that are not the tenant's (wh_tenant_limits.hidden). The client leaves their numbers out
 * of its own; the worker refuses a client that names them all the same. The worker's driver has all
 * devices, and their numbers are the host's, as in limits and counters.
 */
#include "limits/limits.h"
#include "session/handler.h"
#include "session/session.h"

bool wh_device_hidden(const struct wh_session *s, int device)
{
	return wh_is_hidden(s->limits.page->hidden, device);
}

bool wh_locations_hidden(const struct wh_session *s, const void *first, size_t count,
			 size_t stride, size_t offset)
{
	const CUmemLocation *l;
	size_t i;

	for (i = 0; i < count; i++) {
		l = (const void *)((const uint8_t *)first + i * stride + offset);
		if (l->type == CU_MEM_LOCATION_TYPE_DEVICE && wh_device_hidden(s, l->id))
			return true;
	}
	return false;
}
