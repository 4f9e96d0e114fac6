/* SPDX-License-Identifier: Apache-2.0 */
/* Makes requests from the descriptions that are wrong in one thing; protocol.c explains them. */
#ifndef WORMHOLE_TESTS_ATTACK_PROTOCOL_H
#define WORMHOLE_TESTS_ATTACK_PROTOCOL_H

#include "session_fixture.h"

/*
 * A function that is set before the first call. It returns a number below `below`, or any
 * 64-bit number for 0.
 */
extern uint64_t (*protocol_pick)(uint64_t below);
/*
 * A function, set before the first call, that hands the worker the request in the message
 * area of this slot. Returns false if the request was not taken, or if nobody waits for
 * its result. protocol_dispatch() is such a function.
 */
extern bool (*protocol_send)(struct wh_session *s, uint32_t slot, uint32_t handler, size_t size);

/*
 * Runs a request in one of the ways that a worker has: as a call over shm that is waited
 * for, as a posted call over shm (from a cell), or as a call in a server VM.
 */
bool protocol_dispatch(struct wh_session *s, uint32_t slot, uint32_t handler, size_t size);

/* Counts the requests that were made, and those of them that succeeded. */
extern uint32_t protocol_sent, protocol_succeeded;

/* The number of slots in which requests come; the session has more slots. */
#define PROTOCOL_SLOTS	4
extern int protocol_slot;	/* the slot of all requests; -1: any slot */

/*
 * Prepares those slots, and test doubles of all libraries. Call it once, before hello.
 * Returns false if there is no memory.
 */
bool protocol_prepare(struct wh_session *s);
/*
 * Makes objects that requests can name. Call it after hello, and again when requests have
 * destroyed the objects.
 */
bool protocol_begin(struct wh_session *s);
/* Sends one request, or a few that belong together. */
void protocol_step(void);
/* Sends one request to a library. */
void protocol_library_step(void);

#endif
