/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that cuGetProcAddress() knows, by name and version. */
#ifndef WORMHOLE_ENTRY_POINTS_H
#define WORMHOLE_ENTRY_POINTS_H

#include <stddef.h>

/* stubs.h comes first. */

struct wh_entry_point {
	const char *name;
	int version;		/* of CUDA, the first that has it */
	int per_thread;		/* a form for the thread's own default stream */
	void *function;
};
/* Sorted by name, then per-thread forms last, then by version. */
extern WH_HIDDEN const struct wh_entry_point wh_entry_points[];
extern WH_HIDDEN const size_t wh_entry_point_count;

#endif
