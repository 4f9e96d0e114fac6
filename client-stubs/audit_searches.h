/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list by which the loader's auditor tells our libcuda.so.1 how the program asked for each
 * library whose search ended at ours. Entries are only added, under the loader's lock, and
 * stay.
 */
#ifndef WORMHOLE_AUDIT_SEARCHES_H
#define WORMHOLE_AUDIT_SEARCHES_H

#include <stdint.h>

#define WH_SEARCHES	64

struct wh_search {
	const char *name;	/* our file's name: "libcudnn.so.9" */
	const char *asked;	/* the name that was asked for; a path, if it has a slash */
	const char *by;		/* the file that asked, as the loader calls it; "": the program */
};

struct wh_searches {
	uint32_t count;		/* written after the entry, with release order */
	struct wh_search search[WH_SEARCHES];
};

/* A variable of libcuda.so.1, which the auditor finds by its name. NULL: there is no auditor. */
#define WH_SEARCHES_SYMBOL	"wh_audit_searches"
extern const struct wh_searches *wh_audit_searches;

#endif
