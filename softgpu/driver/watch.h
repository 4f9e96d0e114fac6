/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What softgpu's device has done, for a profiler: the one private table that cuGetExportTable()
 * gives out. While nobody watches, it costs a look at a pointer.
 */
#ifndef WORMHOLE_SOFTGPU_WATCH_H
#define WORMHOLE_SOFTGPU_WATCH_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#define SGPU_WATCH_ID	"wormhole softgpu"	/* the bytes of the table's UUID */

enum sgpu_work { SGPU_DID_KERNEL, SGPU_DID_COPY, SGPU_DID_FILL };

struct sgpu_seen {
	enum sgpu_work work;
	CUcontext ctx;
	CUstream stream;	/* as the caller named it */
	int device;
	uint64_t start_ns, end_ns;	/* CLOCK_MONOTONIC */
	/* of a kernel */
	const char *name;
	uint32_t grid[3], block[3];
	size_t shared;		/* dynamic */
	/* of a copy or fill */
	uint64_t bytes;
	CUmemorytype to, from;	/* of a copy: host or device */
};

struct sgpu_watch_table {
	size_t size;
	/*
	 * Calls `seen` after each piece of work, in the thread that asked for it, which waits for
	 * the end; for kernels of a graph this may be another thread. NULL: no more.
	 */
	void (*watch)(void (*seen)(const struct sgpu_seen *s));
};

/* --- Inside softgpu ---------------------------------------------------------------------- */

extern void (*sgpu_watcher)(const struct sgpu_seen *s);

/* Returns the time, or 0 if nobody watches. */
uint64_t sgpu_watch_begin(void);
/* Fills in the time of the end, and tells the watcher; s->start_ns is from the begin. */
void sgpu_watch_end(struct sgpu_seen *s);
/* The two halves of that. */
void sgpu_watch_stop(struct sgpu_seen *s);
void sgpu_watch_tell(const struct sgpu_seen *s);
const struct sgpu_watch_table *sgpu_watch_table(const CUuuid *id);

#endif
