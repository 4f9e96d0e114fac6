/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of NVML that both ends share beside the generated messages. */
#ifndef WORMHOLE_WIRE_NVML_H
#define WORMHOLE_WIRE_NVML_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include <stdbool.h>

#include "wire.h"

/*
 * Structs that say their size: the low 24 bits of their first field are the size, the version
 * is above. A program may be older or newer than the header here, so that size counts and not
 * the header's; 0 for NULL.
 */
#define WH_VERSIONED_MAX	32768

static inline size_t wh_versioned_size(const void *p)
{
	return p ? *(const unsigned int *)p & 0xffffff : 0;
}

static inline bool wh_versioned_ok(size_t size)
{
	return size >= sizeof(unsigned int) && size <= WH_VERSIONED_MAX;
}

/* Does a struct say the same size as the `size` bytes that came? */
static inline bool wh_versioned(const void *p, uint64_t size)
{
	return wh_versioned_ok(size) && wh_versioned_size(p) == size;
}

#endif
