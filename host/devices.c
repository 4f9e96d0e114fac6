// SPDX-License-Identifier: Apache-2.0
/* Lists a server's devices, with names and UUIDs, from its file. A MIG instance has its profile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenancy.h"
#include "wormhole.h"

cJSON *wh_devices_json(const char *dir)
{
	cJSON *all = cJSON_CreateArray(), *e;
	char line[256], uuid[64], name[128], *path;
	FILE *f;

	if (asprintf(&path, "%s/devices", dir) < 0)
		wh_no_memory();
	f = fopen(path, "re");
	free(path);
	while (f && fgets(line, sizeof(line), f)) {
		/* A device is known by its line's number. */
		if (sscanf(line, "%63s %127[^\n]", uuid, name) != 2) {
			strcpy(uuid, "-");
			strcpy(name, "?");
		}
		e = cJSON_CreateObject();
		cJSON_AddStringToObject(e, "name", name);
		cJSON_AddStringToObject(e, "uuid", strcmp(uuid, "-") ? uuid : "");
		cJSON_AddItemToArray(all, e);
	}
	if (f)
		fclose(f);
	return all;
}

static const char *text(const cJSON *e, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(e, key));
}

void wh_devices_print(const cJSON *devices)
{
	const cJSON *e;
	int i = 0;

	cJSON_ArrayForEach(e, devices)
		printf("device %d: %s%s%s\n", i++, text(e, "name"), *text(e, "uuid") ? ", " : "",
		       text(e, "uuid"));
}

void wh_device_json(const cJSON *devices, unsigned int number, cJSON *o)
{
	const cJSON *e = cJSON_GetArrayItem(devices, (int)number);

	if (!e)
		return;
	cJSON_AddStringToObject(o, "name", text(e, "name"));
	cJSON_AddStringToObject(o, "uuid", text(e, "uuid"));
}
