/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loader's auditor tells our libcuda.so.1: for each library that it has led to ours, how
 * the program asked for it. Entries are only added, under the loader's lock, and stay.
 */
#ifndef WORMHOLE_AUDIT_SEARCHES_H
#define WORMHOLE_AUDIT_SEARCHES_H

#include <stdint.h>

#define WH_SEARCHES	64

struct wh_search {
	const char *name;	/* of our file: "libcudnn.so.9" */
	const char *asked;	/* a path, where it has a slash */
	const char *by;		/* the file of who asked, as the loader calls it; "": the program */
};

struct wh_searches {
	uint32_t count;		/* written behind the entry, with release */
	struct wh_search search[WH_SEARCHES];
};

/* Of libcuda.so.1, which the auditor finds by its name; NULL without one. */
#define WH_SEARCHES_SYMBOL	"wh_audit_searches"
extern const struct wh_searches *wh_audit_searches;

#endif
