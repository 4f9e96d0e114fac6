/* SPDX-License-Identifier: Apache-2.0 */
/* Knowledge of streams in which nothing is under way: rest.c. */
#ifndef WORMHOLE_REST_H
#define WORMHOLE_REST_H

#include "slots.h"

struct wh_rest_mark wh_rest_begin(void);
/*
 * The call has succeeded: in the stream nothing is under way that was there at the mark. A legacy
 * default stream is at rest only with all streams that it waits for.
 */
void wh_rest_reached(struct wh_rest_mark m, uint64_t stream, bool waited);

/* Would a wait for the stream find nothing to wait for, and nothing to report? */
bool wh_rest_waited(uint64_t stream);
/*
 * Would a copy from pageable memory to these addresses find nothing to wait for, and will everybody
 * who reads there later be behind the copy, in the order of the legacy default stream?
 */
bool wh_rest_before_copy(CUdeviceptr dst, size_t n);
/* Is nothing under way in the legacy default stream, not even such a copy? */
bool wh_rest_empty(void);
/* Such a copy was posted, by one request. */
void wh_rest_copied(void);
/* From now on something in this process is out of the legacy default stream's order. */
void wh_rest_apart(void);
/* The same, since the process has a second context. */
void wh_rest_contexts(void);
/*
 * Has a copy from there to the host been behind all of the current context's legacy default stream?
 * Nothing documents that for memory of the host, nor for memory of another context.
 */
bool wh_rest_tells(CUdeviceptr src);

/* stream.c: works like wh_wait(), whatever is known, and adds its requests to the mark. */
CUresult wh_wait_from(struct wh_rest_mark *m, uint32_t kind, uint64_t handle);
/*
 * staging.c, with the staging lock: all copies are done that were put into the legacy default
 * stream of the current context.
 */
void wh_staging_rests(void);

#endif
