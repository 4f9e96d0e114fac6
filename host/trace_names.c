// SPDX-License-Identifier: Apache-2.0
/* Names of call numbers. A trace contains only the numbers. */
#include <stdlib.h>

#include "gen_call_names.h"
#include "trace.h"

#define N	(sizeof(gen_call_names) / sizeof(*gen_call_names))

static int compare(const void *key, const void *element)
{
	uint32_t call = *(const uint32_t *)key, other = *(const uint32_t *)element;

	return (call > other) - (call < other);
}

const char *wh_call_name(uint32_t call)
{
	size_t i;
	const void *p = bsearch(&call, gen_call_names, N, sizeof(*gen_call_names), compare);

	if (!p)
		return NULL;
	i = (size_t)((const char *)p - (const char *)gen_call_names) / sizeof(*gen_call_names);
	return gen_call_names[i].name;
}
