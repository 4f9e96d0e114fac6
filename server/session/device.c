// SPDX-License-Identifier: Apache-2.0
/*
 * Devices that are not the tenant's (wh_tenant_limits.hidden). The client leaves their numbers out
 * of its own; the worker refuses a client that names them all the same. The worker's driver has all
 * devices, and their numbers are the server's, but where the tenant has moved: there the driver is
 * given them in the order that they have in the tenant's older workers (wh_tenant_limits.moved).
 * Where the server has MIG instances, the driver is given the tenant's devices alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits/limits.h"
#include "session/handler.h"
#include "session/session.h"
#include "state/devices.h"

bool wh_device_hidden(const struct wh_session *s, int device)
{
	return wh_is_hidden(s->limits.page->hidden, device);
}

bool wh_devices_in_order(const struct wh_session *s)
{
	const struct wh_tenant_limits *l = s->limits.page;
	const char *list = getenv(WH_DEVICES_VARIABLE);
	const bool apart = list && strstr(list, WH_MIG);
	char order[WH_TENANT_DEVICES * 64], uuid[WH_UUID];
	unsigned int d, moved = apart;
	size_t n = 0;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		moved |= l->moved[d];
	for (d = 0; moved && d < WH_TENANT_DEVICES && n < sizeof(order); d++) {
		if (!(apart && wh_device_hidden(s, (int)d)) &&
		    wh_uuid_of(list, wh_device_place(l, d), uuid))
			n += (size_t)snprintf(order + n, sizeof(order) - n, "%s%s", n ? "," : "", uuid);
	}
	return !moved || (n && n < sizeof(order) && !setenv("CUDA_VISIBLE_DEVICES", order, 1));
}

bool wh_device_is_instance(const struct wh_session *s, int device)
{
	char uuid[WH_UUID];

	return device >= 0 && device < WH_TENANT_DEVICES &&
	       wh_uuid_of(getenv(WH_DEVICES_VARIABLE),
			  wh_device_place(s->limits.page, (unsigned int)device), uuid) &&
	       wh_is_instance(uuid);
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
