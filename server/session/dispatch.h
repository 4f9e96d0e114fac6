/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way into a worker: wh_dispatch_slot() (loopback.h) runs the request that lies in a slot's
 * message area. It stays in user mode unless the backend itself makes a system call.
 */
#ifndef WORMHOLE_DISPATCH_H
#define WORMHOLE_DISPATCH_H

#include <stdint.h>

#include "loopback.h"
#include "window.h"

/*
 * Runs a request of `size` bytes at `from`, in shared memory, whose response nobody reads. If 0 is
 * returned, *res is its result.
 */
int64_t wh_dispatch_posted(struct wh_session *s, uint32_t slot, uint32_t handler, const void *from,
			   uint32_t size, int *res);
/*
 * Must the client wait for answers? A client with a temporal limit waits outside of the slot, so it
 * posts nothing while its launches are long or it has used up its share.
 */
int wh_dispatch_wants_answers(const struct wh_session *s);
/* Is the session held back at times, by a share of time? */
bool wh_dispatch_takes_turns(const struct wh_session *s);
/*
 * Is wh_dispatch_idle() worth calling when no request has come for a moment? wh_dispatch_idle()
 * itself says whether to call it again before the next request. If it says so but will not be
 * called, it is told once (`end`).
 */
int wh_dispatch_wants_idle(const struct wh_session *s);
/*
 * Call these before a thread sleeps until the next request. May calls have taken memory that nobody
 * has charged? Then it is charged, so that it is known what others may take.
 */
int wh_dispatch_unsettled(const struct wh_session *s);
void wh_dispatch_settle(struct wh_session *s, uint32_t slot);
/* Under a share, is work under way? If so, somebody has to look after it now and then. */
int wh_dispatch_busy(const struct wh_session *s);
int wh_dispatch_idle(struct wh_session *s, uint32_t slot, int end);

/*
 * For a thread of its own, which serves no slot. wh_dispatch_suspension() sleeps until the tenant
 * is suspended, and returns the number of that. wh_dispatch_rest() waits until no call is under
 * way, says so in the account, and returns when the suspension has ended, at rest or not.
 */
uint32_t wh_dispatch_suspension(const struct wh_session *s);
void wh_dispatch_rest(struct wh_session *s, uint32_t number);

/* The type of the entries of wh_world.handlers[]. */
typedef int64_t wh_handler_fn(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1);
/* Returns NULL if there is no such handler. */
wh_handler_fn *wh_handler(uint32_t number);

#endif
