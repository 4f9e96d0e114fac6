/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcusolverMg.so.12. */
#ifndef WORMHOLE_CUSOLVERMG_STUB_H
#define WORMHOLE_CUSOLVERMG_STUB_H

#include "gen_cusolvermg_client.h"
#include "../handle.h"

/* What the program has for a handle, a grid or a descriptor. */
struct wh_mg {
	struct wh_handle h;
	uint64_t id;		/* in the worker */
	uint32_t devices;	/* as many addresses an array has; a new handle has none */
};

/* Returns NULL for anything but a living object of that kind. */
struct wh_mg *wh_mg_find(const void *object, enum wh_mg_kind kind);

#endif
