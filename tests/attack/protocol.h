/* SPDX-License-Identifier: Apache-2.0 */
/* Makes requests of the descriptions that are wrong in one thing: see protocol.c. */
#ifndef WORMHOLE_TESTS_ATTACK_PROTOCOL_H
#define WORMHOLE_TESTS_ATTACK_PROTOCOL_H

#include "session_fixture.h"

/* Set before the first call: a number below `below`, or any of 64 bits for 0. */
extern uint64_t (*protocol_pick)(uint64_t below);
/* And who takes the request in the message area. False: it was not taken. */
extern bool (*protocol_send)(struct wh_session *s, size_t size);

/* Requests that were made, and those of them that succeeded. */
extern uint32_t protocol_sent, protocol_succeeded;

/* After hello: objects that requests can name; again where something has destroyed them. */
bool protocol_begin(struct wh_session *s);
/* One request, or a few that belong together. */
void protocol_step(void);

#endif
