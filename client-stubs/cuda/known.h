/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of events, for calls that nobody waits for (known.c). */
#ifndef WORMHOLE_KNOWN_H
#define WORMHOLE_KNOWN_H

#include "client.h"

/*
 * Returns the context of an event that this process has made, and that has only been recorded,
 * waited for and asked about since; 0: nothing is known of it. What CUDA answers of one such event
 * it answers of each of the same context.
 */
uint64_t wh_event_context(uint64_t event);
/* The process has made an event in that context; or one has ended. Any thread. */
void wh_event_note(uint64_t event, uint64_t ctx);
void wh_event_forget(uint64_t event);
/* Nothing is known of any event from now on. Any thread, in any state. */
void wh_events_forget(void);

#endif
