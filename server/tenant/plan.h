/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change of a tenant's limits: what it would be, whether the devices can do it, and how workers
 * are told. For whoever owns the tenants: the server, and the supervisor of a server VM.
 */
#ifndef WORMHOLE_TENANT_PLAN_H
#define WORMHOLE_TENANT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenant/seats.h"
#include "tenant/sm_groups.h"
#include "tenant/spec.h"
#include "tenant/tenant.h"

/* A device to which limits apply. */
struct wh_device {
	char name[96];
	char uuid[WH_UUID];
	uint64_t memory;
	uint32_t sms;
	struct wh_sm_split split;	/* split of its SMs, for spatial limits */
	uint64_t context;		/* bytes that one takes; 0: not known */
};

/* What the driver says of a device besides; it is shown, and decides nothing. */
enum {
	WH_KNOWS_MEMORY = 1, WH_KNOWS_TEMPERATURE = 2, WH_KNOWS_POWER = 4, WH_KNOWS_ERRORS = 8,
};

struct wh_device_figures {
	uint32_t known;			/* WH_KNOWS_*, a bit each */
	uint32_t temperature;		/* degrees Celsius */
	uint64_t memory_used;		/* by everybody, bytes */
	uint64_t power_mw;
	uint64_t corrected, uncorrected;	/* ECC errors since the driver was loaded */
};

struct wh_limit_plan {
	const struct wh_device *device;
	unsigned int devices;
	const struct wh_device_limit *now;	/* of each device */
	uint32_t hidden;			/* wh_tenant_limits.hidden */
	uint64_t used[WH_TENANT_DEVICES];	/* groups of SMs that other tenants have */
	/* sum of the shares that those tenants asked for */
	uint32_t used_percent[WH_TENANT_DEVICES];
};

/* Notes what another tenant has of the device. */
void wh_limits_others(struct wh_limit_plan *p, unsigned int device,
		      const struct wh_device_limit *l);
/* Plans the new limits of all devices; false with one line in err. */
bool wh_limits_plan(const struct wh_limit_plan *p, const struct wh_limit_list *list,
		    struct wh_device_limit out[WH_TENANT_DEVICES], char *err, size_t err_size);
/*
 * Publishes them: the tenant's workers see them at their next call, workers of others by the board.
 */
void wh_limits_put(struct wh_tenant_limits *file, struct wh_seats *seats, int seat,
		   const struct wh_device_limit *plan, unsigned int devices);

#endif
