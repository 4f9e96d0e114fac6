// SPDX-License-Identifier: Apache-2.0
/*
 * What the program's structs stand for: objects, found by a name inside of the struct, so
 * that a copy of a struct finds it, too. An object is the steps by which it was made and
 * what it was made from; as in the library, what is made from an object sees what is set
 * of that later. A struct says how many steps there were when it was last written, so that a
 * copy is as it was then. A copy of which something is made, or that is set, is an object of its
 * own; it gets a name when the program lets us write there. Owns the table of names, and which
 * object ends with which. All with wh_slt_lock.
 */
#include "cusparselt_stub.h"

#include <stdlib.h>

/* What stands in the program's struct. */
struct named {
	struct wh_opaque head;
	uint64_t steps;
};

/* An object with so many steps does without those that later ones have made void. */
#define MANY_STEPS	32u

pthread_mutex_t wh_slt_lock = PTHREAD_MUTEX_INITIALIZER;

static struct place {
	struct wh_slt_object *object;
	uint32_t turn;		/* so that a name is not given twice */
	uint32_t free;		/* the next free place, behind 1 */
} *places;
static uint32_t room, first_free;
static uint32_t first_turn;	/* no name of the parent's is one of a child's */
static uint64_t now;

/* The parent's objects are the parent's worker's. Another thread may have had the lock. */
static void forget(void)
{
	pthread_mutex_init(&wh_slt_lock, NULL);
	places = NULL;
	room = first_free = 0;
	first_turn += 1u << 24;
}
WH_IN_CHILD(forget())

uint64_t wh_slt_now(void)
{
	return ++now;
}

/* --- Names ------------------------------------------------------------------------------- */

static bool grow(void)
{
	uint32_t more = room ? room * 2 : 64, i;
	struct place *p = realloc(places, more * sizeof(*p));

	if (!p)
		return false;
	places = p;
	for (i = room; i < more; i++)
		p[i] = (struct place) { .turn = first_turn, .free = i + 1 < more ? i + 2 : 0 };
	first_free = room + 1;
	room = more;
	return true;
}

static struct wh_slt_object *find(uint64_t name)
{
	uint32_t i = (uint32_t)name - 1;

	if (!(uint32_t)name || i >= room || places[i].turn != name >> 32)
		return NULL;
	return places[i].object;
}

void wh_slt_write(const struct wh_slt_object *o, void *p)
{
	struct named n;

	wh_opaque_make(&n.head, o->type, o->name);
	n.steps = o->dropped + o->count;
	memcpy(p, &n, sizeof(n));
}

bool wh_slt_give_name(struct wh_slt_object *o, void *p)
{
	struct place *at;

	if (!first_free && !grow())
		return false;
	at = &places[first_free - 1];
	o->name = (uint64_t)++at->turn << 32 | first_free;
	first_free = at->free;
	at->object = o;
	o->home = p;
	o->refs++;
	wh_slt_write(o, p);
	return true;
}

static void take_name(struct wh_slt_object *o)
{
	uint32_t i = (uint32_t)o->name - 1;

	places[i].object = NULL;
	places[i].free = first_free;
	first_free = i + 1;
	o->name = 0;
	wh_slt_release(o);
}

/* --- Objects ----------------------------------------------------------------------------- */

bool wh_slt_add(struct wh_slt_object *o, const struct wh_slt_step *step)
{
	struct wh_slt_step *more;

	if (o->count == o->room) {
		more = realloc(o->steps, (o->room * 2 + 4) * sizeof(*more));
		if (!more)
			return false;
		o->steps = more;
		o->room = o->room * 2 + 4;
	}
	o->steps[o->count++] = *step;
	return true;
}

void wh_slt_take_back(struct wh_slt_object *o)
{
	o->count--;
}

/* Is the step made void by a later one of the same object? */
static bool is_void(const struct wh_slt_object *o, uint32_t i)
{
	uint32_t k;

	for (k = i + 1; k < o->count && o->steps[i].op == WH_SLT_SET; k++)
		if (o->steps[k].op == WH_SLT_SET && o->steps[k].attribute == o->steps[i].attribute)
			return true;
	return false;
}

/* An attribute that is set again and again. What an older copy was, nobody knows any more then. */
static void drop_void(struct wh_slt_object *o)
{
	uint32_t i, to = 0;

	if (o->count < MANY_STEPS)
		return;
	o->known_since = o->dropped + o->count;
	/* From the front: what is behind it is still there. */
	for (i = 0; i < o->count; i++)
		if (!is_void(o, i))
			o->steps[to++] = o->steps[i];
	o->dropped += o->count - to;
	o->count = to;
}

struct wh_slt_object *wh_slt_new(uint64_t type, struct wh_slt_object *const *parents, uint32_t n,
				 const struct wh_slt_step *step)
{
	struct wh_slt_object *o = calloc(1, sizeof(*o));
	struct wh_slt_link *l;

	if (!o)
		return NULL;
	if (step && !wh_slt_add(o, step)) {
		free(o);
		return NULL;
	}
	o->type = type;
	o->born = wh_slt_now();
	o->refs = 1;
	for (o->parents = 0; o->parents < n; o->parents++) {
		l = &o->parent[o->parents];
		*l = (struct wh_slt_link) { .of = parents[o->parents], .by = o };
		l->of->refs++;
		l->next = l->of->children;
		if (l->next)
			l->next->at = &l->next;
		l->at = &l->of->children;
		l->of->children = l;
	}
	return o;
}

/* It is no copy any more, but itself. */
static void leave_first(struct wh_slt_object *o)
{
	struct wh_slt_object *first = o->first, **at;

	if (!first)
		return;
	for (at = &first->copies; *at != o; at = &(*at)->next_copy)
		;
	*at = o->next_copy;
	o->first = NULL;
	wh_slt_release(first);
}

void wh_slt_release(struct wh_slt_object *o)
{
	struct wh_slt_link *l;
	uint32_t i;

	if (!o || --o->refs)
		return;
	if (o->chain)
		wh_slt_leave(o->chain);
	/* An old copy that no struct stood for: no call of the program's has ended it. */
	if (o->real && !o->ended)
		wh_slt_destroy(o->type, o->real);
	leave_first(o);
	for (i = 0; i < o->parents; i++) {
		l = &o->parent[i];
		*l->at = l->next;
		if (l->next)
			l->next->at = l->at;
		wh_slt_release(l->of);
	}
	free(o->steps);
	free(o);
}

/* As it was behind so many of its steps, for the struct at `home`; held. */
static struct wh_slt_object *copy(struct wh_slt_object *of, uint32_t count, const void *home)
{
	struct wh_slt_object *parents[WH_SLT_PARENTS], *o;
	uint32_t i;

	for (i = 0; i < of->parents; i++)
		parents[i] = of->parent[i].of;
	o = wh_slt_new(of->type, parents, of->parents, NULL);
	for (i = 0; o && i < count; i++)
		if (!wh_slt_add(o, &of->steps[i])) {
			wh_slt_release(o);
			o = NULL;
		}
	if (!o)
		return NULL;
	o->home = home;
	o->as_of = of->dropped + count;
	o->first = of;
	of->refs++;
	o->next_copy = of->copies;
	of->copies = o;
	return o;
}

/* The copy at that place, which something may have been made of; held. */
static struct wh_slt_object *copy_at(struct wh_slt_object *of, uint32_t count, const void *home)
{
	struct wh_slt_object *o;

	for (o = of->copies; o; o = o->next_copy)
		if (o->home == home && o->as_of == of->dropped + count) {
			o->refs++;
			return o;
		}
	return copy(of, count, home);
}

static struct wh_slt_object *named(const void *p, uint64_t type, struct named *n)
{
	struct wh_slt_object *o;

	if (!wh_opaque_is(p, type))
		return NULL;
	memcpy(n, p, sizeof(*n));
	o = find(n->head.id);
	return o && o->type == type ? o : NULL;
}

/* And how many of its steps the struct has; those of the worker's own are the worker's. */
static struct wh_slt_object *look(const void *p, uint64_t type, uint32_t *steps)
{
	struct named n;
	struct wh_slt_object *o = named(p, type, &n);

	if (!o || o->real) {
		*steps = 0;
		return o;
	}
	*steps = n.steps - o->dropped;
	return n.steps < o->known_since || *steps > o->count ? NULL : o;
}

struct wh_slt_object *wh_slt_take_any(const void *p, uint64_t type)
{
	struct named n;
	struct wh_slt_object *o = named(p, type, &n);

	if (o)
		o->refs++;
	return o;
}

struct wh_slt_object *wh_slt_take(const void *p, uint64_t type)
{
	uint32_t steps;
	struct wh_slt_object *o = look(p, type, &steps);

	if (!o)
		return NULL;
	if (p != o->home && !o->real)
		return copy_at(o, steps, p);
	o->refs++;
	return o;
}

struct wh_slt_object *wh_slt_take_own(void *p, uint64_t type)
{
	uint32_t steps;
	struct wh_slt_object *o = look(p, type, &steps), *own;

	if (!o)
		return NULL;
	if (p == o->home || o->real) {
		drop_void(o);
		o->refs++;
		return o;
	}
	own = copy_at(o, steps, p);
	if (own && !wh_slt_give_name(own, p)) {
		wh_slt_release(own);
		return NULL;
	}
	if (own)
		leave_first(own);
	return own;
}

/* A product's description and a choice of algorithm end with what they were made from. */
static bool follows(const struct wh_slt_object *o)
{
	return o->name && (o->type == WH_H_cusparseLtMatmulDescriptor_t ||
			   o->type == WH_H_cusparseLtMatmulAlgSelection_t);
}

static struct wh_slt_object *follower(const struct wh_slt_object *of)
{
	const struct wh_slt_link *l;

	for (l = of->children; l; l = l->next)
		if (follows(l->by))
			return l->by;
	return NULL;
}

/* No deeper than types of objects. */
static void end_followers(struct wh_slt_object *o)
{
	struct wh_slt_object *f;

	while ((f = follower(o)) != NULL)
		wh_slt_end(f);
}

void wh_slt_end(struct wh_slt_object *o)
{
	struct wh_slt_object *f, *next;

	o->refs++;
	/* What was made of a copy ends as well: nobody else ends it. */
	for (f = o->copies; f; f = next) {
		f->refs++;
		end_followers(f);
		/* It is still there, and so is what is behind it now. */
		next = f->next_copy;
		wh_slt_release(f);
	}
	o->ended = true;
	if (o->name)
		take_name(o);
	end_followers(o);
	wh_slt_release(o);
}

/* --- Logs -------------------------------------------------------------------------------- */

bool wh_slt_closure(struct wh_slt_object *o, struct wh_slt_set *set)
{
	uint32_t i;

	for (i = 0; i < set->n; i++)
		if (set->object[i] == o)
			return true;
	for (i = 0; i < o->parents; i++)
		if (!wh_slt_closure(o->parent[i].of, set))
			return false;
	if (set->n == WH_SLT_OBJECTS)
		return false;
	for (i = set->n++; i && set->object[i - 1]->born > o->born; i--)
		set->object[i] = set->object[i - 1];
	set->object[i] = o;
	set->owned |= o->real != 0;
	return true;
}

static uint8_t place_of(const struct wh_slt_set *set, const struct wh_slt_object *o)
{
	uint8_t i;

	for (i = 0; set->object[i] != o; i++)
		;
	return i;
}

static void log_step(const struct wh_slt_set *set, uint32_t place, const struct wh_slt_step *step,
		     struct wh_slt_log *log)
{
	const struct wh_slt_object *o = set->object[place];
	struct wh_slt_step s = *step;
	uint32_t i;

	/* Of which place, until they are in order. */
	s.resv[0] = place;
	for (i = 0; i < o->parents && s.op != WH_SLT_SET; i++)
		s.parent[i] = place_of(set, o->parent[i].of);
	for (i = log->n++; i && log->step[i - 1].when > s.when; i--)
		log->step[i] = log->step[i - 1];
	log->step[i] = s;
}

bool wh_slt_log(const struct wh_slt_set *set, struct wh_slt_log *log)
{
	const struct wh_slt_object *o;
	uint32_t place, i;

	log->n = 0;
	log->objects = set->n;
	for (place = 0; place < set->n; place++) {
		o = set->object[place];
		for (i = 0; i < o->count && !o->real; i++) {
			if (is_void(o, i))
				continue;
			if (log->n == WH_SLT_STEPS)
				return false;
			log_step(set, place, &o->steps[i], log);
		}
	}
	for (i = 0; i < log->n; i++) {
		log->step[i].when = log->step[i].resv[0];
		log->step[i].resv[0] = 0;
	}
	return true;
}
