/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that a library keeps in an object of its own (lines `holds` of its description) and
 * follows in later calls. By then the memory may not be the client's any more: it was freed, and
 * the worker may have something else there. So each call that reads such an object checks again.
 *
 * A client may also make an object of an address that it may not name. Natively only the calls that
 * follow the address fail, and programs ask with such objects for sizes of buffers (JAX). The
 * library then gets an address at which nothing can be. Calls that ask for sizes pass, and those
 * that read the object fail.
 */
#ifndef WORMHOLE_HELD_H
#define WORMHOLE_HELD_H

#include <stdbool.h>
#include <stdint.h>

struct wh_session;

#define WH_HELD	3u	/* places of an object: its values, and two that say where they belong */

/*
 * This is no address of a process, so nobody can read there, not even by mistake; nor is it one of
 * a device.
 */
#define WH_HELD_NOTHING	0x8000000000001000ULL

/* Returns what the library keeps for an address of the client: the address, or WH_HELD_NOTHING. */
uint64_t wh_held_keep(struct wh_session *s, uint64_t address);
/*
 * Call this before the library keeps an address; false: no memory. After it no call below can fail.
 */
bool wh_held_room(struct wh_session *s);
/* The library has taken `kept` for `address`. 0: none. */
void wh_hold(struct wh_session *s, uint64_t id, unsigned int place, uint64_t address,
	     uint64_t kept);
/* May the client still name every address that the object holds? For calls that read the object. */
bool wh_held_reach(struct wh_session *s, uint64_t id);
/* The same, but WH_HELD_NOTHING passes: for calls that only ask for sizes. */
bool wh_held_sizes(struct wh_session *s, uint64_t id);
/* Returns the client's address for one that the library names at a place of an object. */
uint64_t wh_held_say(const struct wh_session *s, uint64_t id, unsigned int place, uint64_t kept);
void wh_held_free(struct wh_session *s);

#endif
