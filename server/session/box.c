// SPDX-License-Identifier: Apache-2.0
/* Owns the memory of boxes (box.h), and which was made from which. */
#include "session/box.h"

#include <stdlib.h>

#include "state/state.h"

#define NEEDS	8	/* as many as a function has parameters of that kind */

struct wh_box {
	struct wh_box *next;	/* of the session's */
	struct wh_box *needs[NEEDS];
	uint64_t id;		/* 0: the client has no name for it */
	uint32_t count;		/* of needs */
	uint32_t users;		/* its name, and boxes that need it */
	bool follows;
	_Alignas(16) uint8_t data[];
};

static struct wh_box *box_of(void *data)
{
	return (struct wh_box *)((uint8_t *)data - offsetof(struct wh_box, data));
}

void *wh_box_new(size_t size)
{
	struct wh_box *b = calloc(1, sizeof(*b) + size);

	return b ? b->data : NULL;
}

void wh_box_needs(void *box, void *of)
{
	struct wh_box *b = box_of(box);

	if (b->count == NEEDS)
		return;
	b->needs[b->count++] = box_of(of);
	box_of(of)->users++;
}

static void release(struct wh_session *s, struct wh_box *b);

/* All that it needs was there before it: this ends. */
static void end(struct wh_session *s, struct wh_box *b)
{
	uint32_t i;

	for (i = 0; i < b->count; i++)
		release(s, b->needs[i]);
	free(b);
}

static void release(struct wh_session *s, struct wh_box *b)
{
	struct wh_box **p;

	if (--b->users)
		return;
	for (p = &s->boxes; *p && *p != b; p = &(*p)->next)
		;
	if (*p)
		*p = b->next;
	end(s, b);
}

void wh_box_free(struct wh_session *s, void *box)
{
	end(s, box_of(box));
}

uint64_t wh_box_put(struct wh_session *s, unsigned int type, void *box, bool follows)
{
	struct wh_box *b = box_of(box);

	b->id = wh_new(s, type, box, 0);
	if (!b->id) {
		wh_box_free(s, box);
		return 0;
	}
	b->users = 1;
	b->follows = follows;
	b->next = s->boxes;
	s->boxes = b;
	return b->id;
}

static bool needs(const struct wh_box *b, const struct wh_box *of)
{
	uint32_t i;

	for (i = 0; i < b->count; i++)
		if (b->needs[i] == of)
			return true;
	return false;
}

/* One with a name that follows this one, or NULL. */
static struct wh_box *follower(const struct wh_session *s, const struct wh_box *of)
{
	struct wh_box *b;

	for (b = s->boxes; b; b = b->next)
		if (b->follows && b->id && needs(b, of))
			return b;
	return NULL;
}

void wh_box_drop(struct wh_session *s, uint64_t id)
{
	void *box = wh_handles_get(&s->handles, id, id >> 56);
	struct wh_box *b, *f;

	if (!box)
		return;
	b = box_of(box);
	b->id = 0;
	wh_drop(s, id);
	/* What is made later needs what is there: no deeper than types of boxes. */
	while ((f = follower(s, b)) != NULL)
		wh_box_drop(s, f->id);
	release(s, b);
}
