// SPDX-License-Identifier: Apache-2.0
/*
 * The compute capability of the devices, from WORMHOLE_SOFTGPU_CAPABILITY, for the driver and for
 * the management library.
 */
#include <stdlib.h>

#include "identity.h"

/* Those for which CUDA 13.0 compiles. */
static const struct { const char *name; int major, minor; } known[] = {
	{ "7.5", 7, 5 }, { "8.0", 8, 0 }, { "8.6", 8, 6 }, { "8.7", 8, 7 }, { "8.8", 8, 8 },
	{ "8.9", 8, 9 }, { "9.0", 9, 0 }, { "10.0", 10, 0 }, { "10.3", 10, 3 }, { "11.0", 11, 0 },
	{ "12.0", 12, 0 }, { "12.1", 12, 1 },
};

bool sgpu_capability(int *major, int *minor)
{
	const char *text = getenv("WORMHOLE_SOFTGPU_CAPABILITY");

	if (!text || !*text)
		text = SGPU_CAPABILITY;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(text, known[i].name)) {
			*major = known[i].major;
			*minor = known[i].minor;
			return true;
		}
	return false;
}
