/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks: points of the worker's streams and graphs at which a function of this process runs
 * (hostfunc.c), and the parts of them that graph nodes need.
 */
#ifndef WORMHOLE_CALLBACK_H
#define WORMHOLE_CALLBACK_H

#include "stubs.h"

enum wh_job_kind {
	WH_JOB_NONE,
	WH_JOB_ONCE,		/* cuLaunchHostFunc() */
	WH_JOB_CALLBACK,	/* cuStreamAddCallback() */
	WH_JOB_NODE,		/* a host node: runs once for each launch, until the node is gone */
	WH_JOB_COPY,		/* the pageable side of a copy node, also once for each launch */
	WH_JOB_OBJECT,		/* a user object's destructor: runs when the object is gone */
};

struct wh_graph_copy;

struct wh_callback_job {
	enum wh_job_kind kind;
	/* Nothing will say that it is gone, so it is shared by (fn, data). */
	bool for_good;
	CUhostFn fn;
	CUstreamCallback status_fn;
	CUstream stream;
	void *data;
	struct wh_graph_copy *copy;
};

/* Returns a callback that runs the job, or NULL if there is no room. */
struct wh_callback *wh_callback_take(const struct wh_callback_job *j);
/* The worker did not take the callback. Frees the job's copy, too. */
void wh_callback_cancel(struct wh_callback *c);
/* Did a callback become free just now? False if none will. */
bool wh_callback_await_end(void);
/* Finds the job of a callback, by the callback's address that the worker named. */
bool wh_callback_job_at(uint64_t addr, struct wh_callback_job *j);
/* Returns a callback of that function which stays for the life of the process, or NULL. */
struct wh_callback *wh_callback_for_good(CUhostFn fn, void *data);
void wh_callback_keep(struct wh_callback *c);

/* graph_copy.c: copies between pageable memory and a mirror in the data area. */
struct wh_graph_copy {
	CUDA_MEMCPY3D params;	/* as the program gave them */
	CUDA_MEMCPY3D staged;	/* the same, with the mirror in the place of pageable memory */
	bool in;		/* this side copies to the mirror, before the device's part */
	void *mirror;
	/* In the list of those whose mirror nobody needs any more. */
	struct wh_graph_copy *next;
};
void wh_graph_copy_part(const struct wh_graph_copy *c);
void wh_graph_copy_free(struct wh_graph_copy *c);
/*
 * Does a side have pageable memory? *out gets the parameters with the worker's types and
 * addresses.
 */
enum wh_copy_sides { WH_SIDES_DEVICE, WH_SIDES_IN, WH_SIDES_OUT, WH_SIDES_HOST };
enum wh_copy_sides wh_graph_copy_sides(const CUDA_MEMCPY3D *p, CUDA_MEMCPY3D *out);
/* Makes a copy with its mirror, for WH_SIDES_IN or WH_SIDES_OUT. */
CUresult wh_graph_copy_new(const CUDA_MEMCPY3D *p, enum wh_copy_sides sides,
			   struct wh_graph_copy **out);

#endif
