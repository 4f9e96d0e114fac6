/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix descriptor of cuSPARSE as the client keeps it. libcusparse.so.12 makes it, and
 * libcusolver.so.12 reads it, as NVIDIA's libraries do with theirs.
 */
#ifndef WORMHOLE_MATDESCR_H
#define WORMHOLE_MATDESCR_H

#include "../handle.h"
#include "wire_cusparse.h"

#define WH_MATDESCR_ALIVE	0x77686d6174646573ULL

struct cusparseMatDescr {
	struct wh_handle h;	/* alive: WH_MATDESCR_ALIVE */
	struct wh_obj_cusparseMatDescr_t o;
};

/* Packs a descriptor. NULL is sent as it is, since the library judges it. */
static inline bool wh_matdescr_pack(cusparseMatDescr_t d, struct wh_obj_cusparseMatDescr_t *out)
{
	if (!d) {
		memset(out, 0, sizeof(*out));
		return true;
	}
	if (d->h.alive != WH_MATDESCR_ALIVE)
		return false;
	*out = d->o;
	return true;
}

#endif
