// SPDX-License-Identifier: Apache-2.0
/* Prints JSON for the commands. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenancy.h"
#include "wormhole.h"

/* cJSON's numbers are doubles: they round beyond 2^53, and have exponents from 10^17 on. */
void wh_json_u64(void *object, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	wh_must(cJSON_AddRawToObject(object, name, text));
}

void wh_json_print(const cJSON *o)
{
	char *text = wh_must(cJSON_Print(o));

	puts(text);
	free(text);
}
