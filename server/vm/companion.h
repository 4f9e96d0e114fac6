/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The companion of a slot: a thread of the worker that makes system calls for the slot's
 * calls, which stay in the view meanwhile (trampoline/companion.asm).
 */
#ifndef WORMHOLE_COMPANION_H
#define WORMHOLE_COMPANION_H

#include <stdint.h>

#include "window.h"

/* Returns the rings of WH_MAX_SLOTS slots, for wh_world.rings. */
struct wh_ring *wh_companion_rings(void);

/*
 * Returns a value for wh_world.patience, in TSC ticks; takes a millisecond. Call it before the
 * first companion runs.
 */
uint64_t wh_companion_patience(void);

/*
 * Returns how long a companion looks for more before it sleeps, in ns, if a wake-up takes so many
 * ticks of the TSC. Call it after wh_companion_patience().
 */
int64_t wh_companion_look_ns(uint64_t wake_ticks);

/*
 * Does what the ring asks for; returns 0 if there was nothing. Any thread may call it, one at a
 * time for a ring.
 */
int wh_companion_serve(struct wh_ring *ring);

/*
 * Makes the calling thread the slot's companion, for good. @fd: the worker's /dev/wormhole-server,
 * registered. The thread makes no library call that could wait for a call.
 */
__attribute__((noreturn)) void wh_companion_run(int fd, uint32_t slot);

#endif
