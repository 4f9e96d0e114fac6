/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a device has not, though the tenant's quota allows it: the server may have it made
 * free (daemon/room.c). Handlers note by wh_note_refused() what the driver refused, and have undone
 * the call then, so that it can run again.
 */
#ifndef WORMHOLE_ROOM_H
#define WORMHOLE_ROOM_H

#include "state/state.h"

/* Did the driver refuse memory in this thread's call, and does the server make room? */
static inline bool wh_room_helps(const struct wh_session *s)
{
	return wh_self.refused &&
	       __atomic_load_n(&s->limits.page->state, __ATOMIC_ACQUIRE) & WH_MAKES_ROOM;
}

/*
 * Asks for room on that device and waits for the answer. The caller is not inside. False: nobody
 * makes room, so the driver's next answer is the last one.
 */
bool wh_room_await(struct wh_session *s);

#endif
