// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the addresses that objects of libraries hold (held.h): one entry for each of the handle
 * table.
 */
#include "session/held.h"

#include <stdlib.h>

#include "session/handler.h"

struct wh_held {
	/* its object; another number: the object that had this place before has ended */
	uint64_t id;
	uint64_t address[WH_HELD];
	uint64_t kept[WH_HELD];	/* what the library keeps */
};

uint64_t wh_held_keep(struct wh_session *s, uint64_t address)
{
	return !address || wh_reach(s, address, 1) == CUDA_SUCCESS ? address : WH_HELD_NOTHING;
}

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

void wh_hold(struct wh_session *s, uint64_t id, unsigned int place, uint64_t address,
	     uint64_t kept)
{
	struct wh_held *h;

	/* The handle table was full. */
	if (!id)
		return;
	h = &s->held[wh_handle_index(id)];
	if (h->id != id)
		*h = (struct wh_held) { .id = id };
	h->address[place] = address;
	h->kept[place] = kept;
}

/* Returns NULL if the object holds no address. */
static const struct wh_held *find(const struct wh_session *s, uint64_t id)
{
	const uint32_t index = wh_handle_index(id);
	const struct wh_held *h = id && index < s->held_room ? &s->held[index] : NULL;

	return h && h->id == id ? h : NULL;
}

/*
 * WH_HELD_NOTHING never reaches, even if the client has got memory at its address since: the
 * library does not have that address.
 */
static bool reaches(struct wh_session *s, uint64_t id, bool nothing)
{
	const struct wh_held *h = find(s, id);
	uint32_t i;

	for (i = 0; h && i < WH_HELD; i++)
		if (h->kept[i] == WH_HELD_NOTHING ? !nothing :
		    h->kept[i] && wh_reach(s, h->kept[i], 1) != CUDA_SUCCESS)
			return false;
	return true;
}

bool wh_held_reach(struct wh_session *s, uint64_t id)
{
	return reaches(s, id, false);
}

bool wh_held_sizes(struct wh_session *s, uint64_t id)
{
	return reaches(s, id, true);
}

uint64_t wh_held_say(const struct wh_session *s, uint64_t id, unsigned int place, uint64_t kept)
{
	const struct wh_held *h = find(s, id);

	return h && kept == WH_HELD_NOTHING ? h->address[place] : kept;
}

void wh_held_free(struct wh_session *s)
{
	free(s->held);
	s->held = NULL;
	s->held_room = 0;
}
