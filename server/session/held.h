/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that a library keeps in an object of its own (lines `holds` of its description) and
 * follows with later calls, when what was the client's may be so no more: its memory was freed,
 * and the worker may have something else there. So each call that reads such an object asks again.
 *
 * A client may also make an object of an address that it may not name: natively only what
 * follows the address fails, and programs ask with such objects for sizes of buffers (JAX). The
 * library then gets an address at which nothing can be, calls that ask for sizes pass, and
 * those that read the object do not.
 */
#ifndef WORMHOLE_HELD_H
#define WORMHOLE_HELD_H

#include <stdbool.h>
#include <stdint.h>

struct wh_session;

#define WH_HELD	3u	/* places of an object: its values, and two that say where they belong */

/* No address of a process, so that nobody reads there, not even by mistake; nor one of a device. */
#define WH_HELD_NOTHING	0x8000000000001000ULL

/* What the library keeps for an address of the client's: it, or WH_HELD_NOTHING. */
uint64_t wh_held_keep(struct wh_session *s, uint64_t address);
/* Before the library keeps one; false: no memory. After it no call below can fail. */
bool wh_held_room(struct wh_session *s);
/* The library has taken `kept` for it. 0 is none. */
void wh_hold(struct wh_session *s, uint64_t id, unsigned int place, uint64_t address,
	     uint64_t kept);
/* May the client still name all that the object holds? For calls that read it. */
bool wh_held_reach(struct wh_session *s, uint64_t id);
/* The same, but for what the library does not have: for calls that ask for sizes alone. */
bool wh_held_sizes(struct wh_session *s, uint64_t id);
/* The client's word for an address that the library says of an object's place. */
uint64_t wh_held_say(const struct wh_session *s, uint64_t id, unsigned int place, uint64_t kept);
void wh_held_free(struct wh_session *s);

#endif
