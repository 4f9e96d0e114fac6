/* SPDX-License-Identifier: Apache-2.0 */
/* Makes requests of the descriptions that are wrong in one thing: see protocol.c. */
#ifndef WORMHOLE_TESTS_ATTACK_PROTOCOL_H
#define WORMHOLE_TESTS_ATTACK_PROTOCOL_H

#include "session_fixture.h"

/* Set before the first call: a number below `below`, or any of 64 bits for 0. */
extern uint64_t (*protocol_pick)(uint64_t below);
/*
 * And who takes the request in the message area of this slot. False: it was not taken, or
 * nobody waits for what comes of it. protocol_dispatch() is one.
 */
extern bool (*protocol_send)(struct wh_session *s, uint32_t slot, uint32_t handler, size_t size);

/*
 * By one of the ways that a worker has: of shm for a call that is waited for, or that is not
 * (from a cell), and of a server VM.
 */
bool protocol_dispatch(struct wh_session *s, uint32_t slot, uint32_t handler, size_t size);

/* Requests that were made, and those of them that succeeded. */
extern uint32_t protocol_sent, protocol_succeeded;

/* Slots that requests come in; the session has more. */
#define PROTOCOL_SLOTS	4
extern int protocol_slot;	/* all of them in this one; -1: in any */

/* Those slots, and stand-ins for all libraries: once, before hello. False: no memory. */
bool protocol_prepare(struct wh_session *s);
/* After hello: objects that requests can name; again where something has destroyed them. */
bool protocol_begin(struct wh_session *s);
/* One request, or a few that belong together. */
void protocol_step(void);
/* One of a library's. */
void protocol_library_step(void);

#endif
