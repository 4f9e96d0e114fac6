// SPDX-License-Identifier: Apache-2.0
/*
 * The amount of device memory, from WORMHOLE_SOFTGPU_MEM, for the driver and for the
 * management library.
 */
#include <stdlib.h>

#include "identity.h"

#define DEFAULT_MEM	(512ull << 20)
#define MIN_MEM		(1ull << 20)

/* Reads a size like "512M", "2G" or "1048576". Returns false unless all of @text is a size. */
static bool parse_size(const char *text, unsigned long long *size)
{
	unsigned long long unit = 1;
	char *end;

	*size = strtoull(text, &end, 10);
	if (end == text)
		return false;
	if (*end == 'K' || *end == 'M' || *end == 'G') {
		unit = *end == 'K' ? 1ull << 10 :
		       *end == 'M' ? 1ull << 20 : 1ull << 30;
		end++;
	}
	return !*end && !__builtin_mul_overflow(*size, unit, size);
}

bool sgpu_memory_size(unsigned long long *bytes)
{
	const char *text = getenv("WORMHOLE_SOFTGPU_MEM");

	*bytes = DEFAULT_MEM;
	return !text || !*text || (parse_size(text, bytes) && *bytes >= MIN_MEM);
}
