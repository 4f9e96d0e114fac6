// SPDX-License-Identifier: Apache-2.0
/*
 * The devices and the amount of memory of each, from WORMHOLE_SOFTGPU_MEM, for the driver
 * and for the management library.
 */
#include <stdlib.h>

#include "identity.h"

#define DEFAULT_MEM	(512ull << 20)
#define MIN_MEM		(1ull << 20)

/* Reads a size like "512M", "2G" or "1048576". Returns what follows it; NULL: it is none. */
static const char *parse_size(const char *text, unsigned long long *size)
{
	unsigned long long unit = 1;
	char *end;

	*size = strtoull(text, &end, 10);
	if (end == text)
		return NULL;
	if (*end == 'K' || *end == 'M' || *end == 'G') {
		unit = *end == 'K' ? 1ull << 10 :
		       *end == 'M' ? 1ull << 20 : 1ull << 30;
		end++;
	}
	return __builtin_mul_overflow(*size, unit, size) || *size < MIN_MEM ? NULL : end;
}

bool sgpu_memory_sizes(unsigned long long bytes[SGPU_DEVICES], unsigned int *devices)
{
	const char *text = getenv("WORMHOLE_SOFTGPU_MEM");

	*devices = 1;
	bytes[0] = DEFAULT_MEM;
	if (!text || !*text)
		return true;
	for (*devices = 0; *devices < SGPU_DEVICES; text++) {
		text = parse_size(text, &bytes[(*devices)++]);
		if (!text || !*text)
			return text;
		if (*text != ',')
			return false;
	}
	return false;
}
