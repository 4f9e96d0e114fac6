/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that a library keeps in an object of its own (lines `holds` of its description) and
 * follows with later calls, when what was the client's may be so no more: its memory was freed,
 * and the worker may have something else there. So each call that reads such an object asks again.
 */
#ifndef WORMHOLE_HELD_H
#define WORMHOLE_HELD_H

#include <stdbool.h>
#include <stdint.h>

struct wh_session;

#define WH_HELD	3u	/* places of an object: its values, and two that say where they belong */

/* Before the library keeps one; false: no memory. After it no call below can fail. */
bool wh_held_room(struct wh_session *s);
/* The library has taken it. 0 is none. */
void wh_hold(struct wh_session *s, uint64_t id, unsigned int place, uint64_t address);
/* May the client still name all that the object holds? */
bool wh_held_reach(struct wh_session *s, uint64_t id);
void wh_held_free(struct wh_session *s);

#endif
