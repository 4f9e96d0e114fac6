// SPDX-License-Identifier: Apache-2.0
/* Owns the memory of boxes (box.h), and records which was made from which. */
#include "session/box.h"

#include <stdlib.h>

#include "session/handler.h"
#include "state/state.h"

#define NEEDS	8	/* a function has at most as many parameters of that kind */

/* The box `by` was made from the box `of`. */
struct need {
	struct wh_box *of, *by;
	struct need *next, **at;	/* list of all that were made from `of` */
};

struct wh_box {
	struct wh_box *next, **at;	/* list of the session's boxes */
	struct need needs[NEEDS];
	struct need *made;	/* the boxes made from this one */
	uint64_t address[WH_BOX_ADDRESSES];
	uint64_t id;		/* 0: the client has no name for it */
	uint32_t count;		/* of needs */
	uint32_t users;		/* its name counts, and each box that needs it */
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
	struct need *n;

	if (b->count == NEEDS)
		return;
	n = &b->needs[b->count++];
	*n = (struct need) { .of = box_of(of), .by = b };
	n->of->users++;
	n->next = n->of->made;
	if (n->next)
		n->next->at = &n->next;
	n->at = &n->of->made;
	n->of->made = n;
}

static void release(struct wh_session *s, struct wh_box *b);

/* Ends a box. All boxes that it needs are older, so the recursion ends. */
static void end(struct wh_session *s, struct wh_box *b)
{
	struct need *n;
	uint32_t i;

	for (i = 0; i < b->count; i++) {
		n = &b->needs[i];
		*n->at = n->next;
		if (n->next)
			n->next->at = n->at;
		release(s, n->of);
	}
	free(b);
}

static void release(struct wh_session *s, struct wh_box *b)
{
	if (--b->users)
		return;
	*b->at = b->next;
	if (b->next)
		b->next->at = b->at;
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
	if (b->next)
		b->next->at = &b->next;
	b->at = &s->boxes;
	s->boxes = b;
	return b->id;
}

void wh_box_keeps(void *box, unsigned int place, uint64_t address)
{
	box_of(box)->address[place] = address;
}

bool wh_box_reaches(struct wh_session *s, void *box)
{
	const struct wh_box *b = box_of(box);
	uint32_t i;

	for (i = 0; i < WH_BOX_ADDRESSES; i++)
		if (b->address[i] && wh_reach(s, b->address[i], 1) != CUDA_SUCCESS)
			return false;
	for (i = 0; i < b->count; i++)
		if (!wh_box_reaches(s, b->needs[i].of->data))
			return false;
	return true;
}

/* Returns a box with a name that follows this one, or NULL. */
static struct wh_box *follower(const struct wh_box *of)
{
	const struct need *n;

	for (n = of->made; n; n = n->next)
		if (n->by->follows && n->by->id)
			return n->by;
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
	/*
	 * A newer box needs only older ones, so the recursion is no deeper than there are types of
	 * boxes.
	 */
	while ((f = follower(b)) != NULL)
		wh_box_drop(s, f->id);
	release(s, b);
}
