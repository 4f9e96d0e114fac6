/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of memory of this process. Only the kernel's list knows them (/proc/self/maps). */
#ifndef WORMHOLE_MAPS_H
#define WORMHOLE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

enum wh_pages {
	WH_PAGES_NOTHING,	/* not all of them exist */
	WH_PAGES_PLAIN,		/* private memory, readable and writable, of no file */
	WH_PAGES_STACK,		/* the same, at least a part of it of the first thread's stack */
	WH_PAGES_CONSTANT,	/* private memory that is only readable, of a file or not */
	WH_PAGES_SHARED,	/* a file's, readable and writable, that others may have, too */
	WH_PAGES_OTHER,		/* others, which would lose their connection, or of several kinds */
};

/* Returns the kind of the whole pages [low, low + size) bytes; OTHER if the list is missing. */
enum wh_pages wh_maps_kind(const void *low, size_t size);
/*
 * The one map that has all of these pages of WH_PAGES_SHARED, and a descriptor of its file. -1:
 * there are several maps, or the program has no descriptor and the file no name. *close_it: it was
 * opened for this.
 */
int wh_maps_file(const void *low, size_t size, uint64_t *offset, uint64_t *inode, bool *close_it);
/* May the program write there now? False if nothing is there, or the list is missing. */
bool wh_maps_writable(const void *p);
/*
 * Are the first and the last page there, and may they be read, or written? The kernel tries it.
 * This is for a worker in this process.
 */
bool wh_maps_there(const void *low, size_t size, bool write);

#endif
