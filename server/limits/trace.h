/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's end of a trace (tenant/trace.h). While nobody traces, the only cost is the
 * look of wh_tracing().
 */
#ifndef WORMHOLE_LIMITS_TRACE_H
#define WORMHOLE_LIMITS_TRACE_H

#include "state/state.h"
#include "tenant/trace.h"

/*
 * Opens the tenant's file; -1: there is none. Without a file, and in a session without a tenant,
 * nobody traces.
 */
bool wh_trace_open(struct wh_session *s, int fd, unsigned int account, uint32_t client);
void wh_trace_close(struct wh_session *s);

static inline bool wh_tracing(const struct wh_session *s)
{
	return WH_UNLIKELY(__atomic_load_n(s->trace.on, __ATOMIC_RELAXED));
}

/* Is the process that traces still alive? */
bool wh_trace_lives(struct wh_session *s);
/* Writes a record; number, client and slot are filled in here. */
void wh_trace_put(struct wh_session *s, struct wh_trace_record *r);
/* Has this kernel's name been said in this trace? From now on it counts as said. */
bool wh_trace_named(struct wh_session *s, uint64_t name);
void wh_trace_say_name(struct wh_session *s, uint64_t name, const char *text);

/*
 * trace_device.c: measures when a call's work ran on the device, by a pair of events around it. The
 * call is wh_self.traced; without one nothing is measured.
 */
void wh_trace_device_begin(struct wh_session *s, CUstream stream);
void wh_trace_device_end(struct wh_session *s, CUstream stream);
/* Call this instead of wh_trace_device_end() if nothing was done. */
void wh_trace_device_forget(struct wh_session *s);
/* Writes records of work that is done. */
void wh_trace_device_look(struct wh_session *s);
void wh_trace_context_gone(struct wh_session *s, uint64_t ctx);

#endif
