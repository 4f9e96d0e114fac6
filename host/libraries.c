// SPDX-License-Identifier: Apache-2.0
/* Lists the libraries over the driver that a server has found, with versions, from its file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenancy.h"
#include "wormhole.h"

/* The newest version comes first. Only names and versions are listed. */
cJSON *wh_libraries_json(const char *dir)
{
	cJSON *o = cJSON_CreateObject(), *list;
	char line[4200], name[32], version[24], *path;
	FILE *f;

	if (asprintf(&path, "%s/libraries", dir) < 0)
		wh_no_memory();
	f = fopen(path, "re");
	free(path);
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%31s %23s ", name, version) != 2)
			continue;
		list = cJSON_GetObjectItemCaseSensitive(o, name);
		if (!list)
			list = cJSON_AddArrayToObject(o, name);
		cJSON_AddItemToArray(list, cJSON_CreateString(version));
	}
	if (f)
		fclose(f);
	return o;
}

void wh_libraries_print(const cJSON *libraries)
{
	const cJSON *one, *version;

	if (!libraries || !libraries->child)
		return;
	printf("libraries:");
	cJSON_ArrayForEach(one, libraries) {
		printf("%s %s", one == libraries->child ? "" : ",", one->string);
		cJSON_ArrayForEach(version, one)
			printf(" %s", version->valuestring);
	}
	putchar('\n');
}
