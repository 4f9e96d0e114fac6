/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks: points of the worker's streams and graphs at which a function of this
 * process runs (hostfunc.c), and what graph nodes need of them.
 */
#ifndef WORMHOLE_CALLBACK_H
#define WORMHOLE_CALLBACK_H

#include "stubs.h"

enum wh_job_kind {
	WH_JOB_NONE,
	WH_JOB_ONCE,		/* cuLaunchHostFunc() */
	WH_JOB_CALLBACK,	/* cuStreamAddCallback() */
	WH_JOB_NODE,		/* a host node: once for each launch, until it is gone */
	WH_JOB_COPY,		/* the pageable side of a copy node, likewise */
	WH_JOB_OBJECT,		/* a user object's destructor: when it is gone */
};

struct wh_graph_copy;

struct wh_callback_job {
	enum wh_job_kind kind;
	bool for_good;		/* nothing will say that it is gone: shared by (fn, data) */
	CUhostFn fn;
	CUstreamCallback status_fn;
	CUstream stream;
	void *data;
	struct wh_graph_copy *copy;
};

/* A callback with the job behind it; NULL when there is no room. */
struct wh_callback *wh_callback_take(const struct wh_callback_job *j);
/* The worker did not take it. Frees the job's copy, too. */
void wh_callback_cancel(struct wh_callback *c);
/* Did a callback become free just now? False when none will. */
bool wh_callback_await_end(void);
/* The job behind an address that the worker named. */
bool wh_callback_job_at(uint64_t addr, struct wh_callback_job *j);
/* A callback of that function which stays for the life of the process, or NULL. */
struct wh_callback *wh_callback_for_good(CUhostFn fn, void *data);
void wh_callback_keep(struct wh_callback *c);

/* graph_copy.c: copies between pageable memory and a mirror in the data area. */
struct wh_graph_copy {
	CUDA_MEMCPY3D params;	/* the program's own */
	CUDA_MEMCPY3D staged;	/* with the mirror in the place of pageable memory */
	bool in;		/* to the mirror, before the device's part */
	void *mirror;
	struct wh_graph_copy *next;	/* of those whose mirror nobody needs any more */
};
void wh_graph_copy_part(const struct wh_graph_copy *c);
void wh_graph_copy_free(struct wh_graph_copy *c);
/* Has a side pageable memory? Types and addresses become the worker's in *out. */
enum wh_copy_sides { WH_SIDES_DEVICE, WH_SIDES_IN, WH_SIDES_OUT, WH_SIDES_HOST };
enum wh_copy_sides wh_graph_copy_sides(const CUDA_MEMCPY3D *p, CUDA_MEMCPY3D *out);
/* A copy with its mirror, for one of WH_SIDES_IN and WH_SIDES_OUT. */
CUresult wh_graph_copy_new(const CUDA_MEMCPY3D *p, enum wh_copy_sides sides,
			   struct wh_graph_copy **out);

#endif
