/* SPDX-License-Identifier: Apache-2.0 */
/* Runs calls while somebody traces (limits/trace.h). */
#ifndef WORMHOLE_SERVER_TRACED_H
#define WORMHOLE_SERVER_TRACED_H

#include "session/handler.h"
#include "session/library.h"

/* Runs a handler, the driver's or a library's, and records what it was and when it ran. */
int32_t wh_run_traced(struct wh_session *s, struct wh_frame *f, const struct wh_call_entry *e,
		      const struct wh_library_entry *l);

/*
 * Generated from cuda.api: describes the request of a generated handler, which has the call's least
 * size, and returns true for an asynchronous copy or fill.
 */
bool wh_told(const struct wh_req *req, struct wh_trace_record *r);
/*
 * wh_told() fills a record by these. A stream is the client's handle, 0 the default stream; sizes
 * are in bytes; the way is WH_TRACE_TO_DEVICE and the like.
 */
void wh_trace_kind(struct wh_trace_record *r, uint64_t stream, enum wh_trace_kind kind);
void wh_trace_copy(struct wh_trace_record *r, uint64_t stream, uint64_t bytes, int way);
void wh_trace_fill(struct wh_trace_record *r, uint64_t stream, uint64_t bytes);
int wh_trace_way(CUmemorytype from, CUmemorytype to);

#endif
