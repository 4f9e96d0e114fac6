// SPDX-License-Identifier: Apache-2.0
/* Owns what objects of libraries hold (held.h): one entry beside each of the handle table. */
#include "session/held.h"

#include <stdlib.h>

#include "session/handler.h"

struct wh_held {
	uint64_t id;		/* whose: another one's of the same place has ended */
	uint64_t address[WH_HELD];
};

bool wh_held_room(struct wh_session *s)
{
	/* A new handle takes a free entry of the table, or the first unused one. */
	const uint32_t need = s->handles.used + 1;
	uint32_t room = s->held_room ? s->held_room : 64;
	struct wh_held *p;

	if (need <= s->held_room)
		return true;
	while (room < need)
		room *= 2;
	p = realloc(s->held, room * sizeof(*p));
	if (!p)
		return false;
	memset(&p[s->held_room], 0, (room - s->held_room) * sizeof(*p));
	s->held = p;
	s->held_room = room;
	return true;
}

void wh_hold(struct wh_session *s, uint64_t id, unsigned int place, uint64_t address)
{
	struct wh_held *h;

	/* The table was full. */
	if (!id)
		return;
	h = &s->held[wh_handle_index(id)];
	if (h->id != id)
		*h = (struct wh_held) { .id = id };
	h->address[place] = address;
}

bool wh_held_reach(struct wh_session *s, uint64_t id)
{
	const uint32_t index = wh_handle_index(id);
	const struct wh_held *h = index < s->held_room ? &s->held[index] : NULL;
	uint32_t i;

	if (!id || !h || h->id != id)
		return true;
	for (i = 0; i < WH_HELD; i++)
		if (h->address[i] && wh_reach(s, h->address[i], 1) != CUDA_SUCCESS)
			return false;
	return true;
}

void wh_held_free(struct wh_session *s)
{
	free(s->held);
	s->held = NULL;
	s->held_room = 0;
}
