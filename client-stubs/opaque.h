/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs that a library declares as bytes in the program's memory. The program's struct has
 * only the name of the worker's object. A mark in it shows whether it was ever made and is of
 * this type; the worker knows whether the object has ended.
 */
#ifndef WORMHOLE_OPAQUE_H
#define WORMHOLE_OPAQUE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WH_OPAQUE_MARK	0x77686f7061717565ULL

struct wh_opaque {
	uint64_t mark;
	uint64_t id;		/* in the worker's handle table */
};

static inline bool wh_opaque_is(const void *p, uint64_t type)
{
	struct wh_opaque o = { 0 };

	if (p)
		memcpy(&o, p, sizeof(o));
	return o.mark == (WH_OPAQUE_MARK ^ type << 32);
}

static inline uint64_t wh_opaque_id(const void *p)
{
	struct wh_opaque o;

	memcpy(&o, p, sizeof(o));
	return o.id;
}

static inline void wh_opaque_make(void *p, uint64_t type, uint64_t id)
{
	struct wh_opaque o = { .mark = WH_OPAQUE_MARK ^ type << 32, .id = id };

	memcpy(p, &o, sizeof(o));
}

#endif
