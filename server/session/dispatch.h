/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way into a worker: run the request that lies in a slot's message
 * area. User mode only unless the backend itself makes a system call.
 */
#ifndef WORMHOLE_DISPATCH_H
#define WORMHOLE_DISPATCH_H

#include <stdint.h>

#include "loopback.h"
#include "window.h"

/*
 * The same for a request of `size` bytes at `from`, in shared memory, whose
 * response nobody reads: its result is in *res when 0 is returned.
 */
int64_t wh_dispatch_posted(struct wh_session *s, uint32_t slot, uint32_t handler, const void *from,
			   uint32_t size, int *res);
/*
 * A client with a temporal limit waits outside of the slot, so it posts nothing
 * while its launches are long or it has used up its share.
 */
int wh_dispatch_wants_answers(const struct wh_session *s);
/*
 * Is wh_dispatch_idle() worth calling when no request has come for a moment?
 * That one says whether it is again, until the next request; if it is and will
 * not be called, it is told so once (`end`).
 */
int wh_dispatch_wants_idle(const struct wh_session *s);
/*
 * Before a thread sleeps until the next request: may calls have taken memory that nobody has
 * charged? Then it is charged, and what others may take is known.
 */
int wh_dispatch_unsettled(const struct wh_session *s);
void wh_dispatch_settle(struct wh_session *s, uint32_t slot);
/* Under a share, is work under way? Then somebody is to look after it now and then. */
int wh_dispatch_busy(const struct wh_session *s);
int wh_dispatch_idle(struct wh_session *s, uint32_t slot, int end);

/* What wh_world.handlers[] takes: s64 handler(session, slot, arg0, arg1). */
typedef int64_t wh_handler_fn(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1);
/* NULL: there is no such handler. */
wh_handler_fn *wh_handler(uint32_t number);

#endif
