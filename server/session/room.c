// SPDX-License-Identifier: Apache-2.0
/*
 * The worker's side of daemon/room.c. A word of the worker's account has the question, and the
 * server's answer to it. Calls of several slots that need room of the same device ask once.
 */
#include "session/room.h"

#include "session/dispatch.h"

#define LOOK_MS	100	/* a server that ends without an answer wakes nobody */

static uint32_t look(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Other tenants wait for the turn, which passes on when somebody looks whether it is over. */
static void wait_for(struct wh_session *s, const uint32_t *word, uint32_t value)
{
	wh_tenant_await(word, value, LOOK_MS);
	if (s->limits.temporal)
		wh_dispatch_idle(s, wh_self.slot, false);
}

/* Returns the question that stands in the word then. */
static uint32_t ask(struct wh_session *s, uint32_t *word, uint32_t device)
{
	uint32_t old = look(word), asked;

	for (;;) {
		asked = WH_ROOM_NEXT(old, device);
		if (WH_ROOM_STATE(old) != WH_ROOM_ASKED) {
			if (__atomic_compare_exchange_n(word, &old, asked, false, __ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				return asked;
		} else if (WH_ROOM_DEVICE(old) == device || !wh_room_helps(s)) {
			return old;
		} else {
			wait_for(s, word, old);
			old = look(word);
		}
	}
}

bool wh_room_await(struct wh_session *s)
{
	uint32_t *word = &s->limits.account->room, device = wh_self.refused - 1;
	uint32_t asked = ask(s, word, device), now;

	while ((now = look(word)) == asked && wh_room_helps(s))
		wait_for(s, word, asked);
	/* The next question may stand there already. */
	return now != asked && WH_ROOM_STATE(now) != WH_ROOM_NONE;
}
