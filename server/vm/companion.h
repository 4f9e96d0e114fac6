/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The companion of a slot: a thread of the worker that makes system calls for the slot's
 * calls, which stay in the view meanwhile (trampoline/companion.asm).
 */
#ifndef WORMHOLE_COMPANION_H
#define WORMHOLE_COMPANION_H

#include <stdint.h>

#include "window.h"

/* For wh_world.rings: of WH_MAX_SLOTS slots. */
struct wh_ring *wh_companion_rings(void);

/* For wh_world.patience, TSC ticks; takes a millisecond. Before the first companion runs. */
uint64_t wh_companion_patience(void);

/*
 * How long a companion looks for more before it sleeps, ns, where a wake-up takes so many
 * ticks of the TSC. Behind wh_companion_patience().
 */
int64_t wh_companion_look_ns(uint64_t wake_ticks);

/* Does what the ring asks for; 0 if that was nothing. Any thread, one at a time for a ring. */
int wh_companion_serve(struct wh_ring *ring);

/*
 * The calling thread is the slot's companion from here on, for good. @fd: the worker's
 * /dev/wormhole-server, registered. It makes no library call that could wait for a call.
 */
__attribute__((noreturn)) void wh_companion_run(int fd, uint32_t slot);

#endif
