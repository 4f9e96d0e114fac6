// SPDX-License-Identifier: Apache-2.0
/*
 * Has a device room for what is to come back to it? A restoration that finds none in the middle
 * seems to leave on the device what it has taken until then (NVIDIA's driver 580 on an H200:
 * bench/RESULTS-shares.md), so it is not asked for. What somebody takes between this look and the
 * restoration is not seen.
 */
#include "checkpoint/checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "figures/nvml.h"
#include "tenant/plan.h"

/* What the driver rounds up, and keeps beside what is charged. */
#define BESIDE	(8ULL << 20)

static bool free_of(const struct nvml *nvml, const char *uuid, uint64_t *bytes)
{
	nvml_device device = wh_nvml_find(nvml, uuid);
	struct nvml_memory memory;

	if (!device || nvml->memory(device, &memory) != NVML_OK)
		return false;
	*bytes = memory.free;
	return true;
}

bool wh_device_room(const struct wh_checkpoint *o, const uint64_t need[WH_TENANT_DEVICES],
		    char *why, size_t size)
{
	const char *library = o->nvml && *o->nvml ? o->nvml : NULL;
	char uuid[WH_UUID], err[300];
	struct nvml nvml;
	uint64_t bytes;
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES && !need[d]; d++)
		;
	if (d == WH_TENANT_DEVICES || (library && !strcmp(library, "none")))
		return true;
	if (!wh_nvml_load(&nvml, library, o->backend, err, sizeof(err)) || !nvml.memory ||
	    nvml.init() != NVML_OK)
		return true;
	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		if (!need[d] || !wh_uuid_of(o->uuids, d, uuid) || !free_of(&nvml, uuid, &bytes) ||
		    bytes >= need[d] + BESIDE)
			continue;
		snprintf(why, size, "device %s has too little memory: %llu MiB are to come back, and %llu MiB are free; "
			 "suspend or end what is there", uuid, (unsigned long long)(need[d] >> 20),
			 (unsigned long long)(bytes >> 20));
		return false;
	}
	return true;
}
