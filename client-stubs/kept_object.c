// SPDX-License-Identifier: Apache-2.0
/*
 * The objects that the program's descriptors stand for. For the program a descriptor is a
 * number, or a name inside of a struct, so that a copy of the struct finds the object, too. An
 * object consists of what was done to it and what it was made of. As in the library, what is
 * made of an object sees what is set of the object later.
 *
 * A struct says how many steps there were when it was last written, so that a copy is as it was
 * then. A copy of which something is made, or that is set, becomes an object of its own. It
 * gets a name when the program lets us write to its struct. This file owns the names, and knows
 * which object ends with which.
 */
#include "kept_object.h"

#include <stdlib.h>

#include "opaque.h"

#define TAG	0xfd00000000000000ULL
#define MOST	(1u << 18)	/* objects of a program at a time */
/* An object with so many steps drops those that later ones have made void. */
#define MANY	32u

/* The contents of the program's struct. */
struct named {
	struct wh_opaque head;
	uint64_t steps;
};

static struct wh_name *all[MOST];
static struct wh_names names = {
	.all = all,
	.most = MOST,
	.size = sizeof(struct wh_kept),
	.tag = TAG,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};
WH_IN_CHILD(wh_names_forget(&names))

uint64_t wh_kept_now(void)
{
	static uint64_t now;

	return __atomic_add_fetch(&now, 1, __ATOMIC_RELAXED);
}

/* --- Their life -------------------------------------------------------------------------- */

static void link_to(struct wh_kept *k, struct wh_kept *of)
{
	struct wh_kept_link *l = &k->parent[k->parents++];

	*l = (struct wh_kept_link) { .of = of, .by = k, .next = of->children, .at = &of->children };
	if (l->next)
		l->next->at = &l->next;
	of->children = l;
	of->refs++;
}

static void unlink_from(struct wh_kept_link *l)
{
	*l->at = l->next;
	if (l->next)
		l->next->at = l->at;
	wh_kept_release(l->of);
}

struct wh_kept *wh_kept_new(const struct wh_kept_kind *kind, struct wh_kept *const *parents,
			    uint32_t n)
{
	struct wh_kept *k = (struct wh_kept *)wh_name_take(&names);
	uint32_t i;

	if (!k)
		return NULL;
	memset(&k->name + 1, 0, sizeof(*k) - sizeof(k->name));
	k->kind = kind;
	k->refs = 1;
	k->born = wh_kept_now();
	for (i = 0; i < n; i++)
		link_to(k, parents[i]);
	return k;
}

/* Makes a copy an object of its own. */
static void leave_first(struct wh_kept *k)
{
	struct wh_kept *first = k->first, **at;

	if (!first)
		return;
	for (at = &first->copies; *at != k; at = &(*at)->next_copy)
		;
	*at = k->next_copy;
	k->first = NULL;
	wh_kept_release(first);
}

static void let_go_alone(struct wh_kept *k)
{
	struct wh_made *made = k->made;

	if (k->own)
		return;
	__atomic_store_n(&k->real, 0, __ATOMIC_RELEASE);
	k->made = NULL;
	wh_made_leave(made);
}

void wh_kept_let_go(struct wh_kept *k)
{
	const struct wh_kept_link *l;

	let_go_alone(k);
	for (l = k->children; l; l = l->next)
		wh_kept_let_go(l->by);
}

void wh_kept_release(struct wh_kept *k)
{
	uint32_t i;

	if (!k || --k->refs)
		return;
	/*
	 * No call of the program has ended this one in the worker, since the program had no
	 * name for it.
	 */
	if (k->own && !k->ended)
		wh_real_end(k->kind, k->real);
	let_go_alone(k);
	leave_first(k);
	for (i = 0; i < k->parents; i++)
		unlink_from(&k->parent[i]);
	wh_log_free(&k->log);
	wh_name_give(&names, &k->name);
}

/* Finds an object made of this one that ends with it, so that the program need not end it. */
static struct wh_kept *follower(const struct wh_kept *of)
{
	const struct wh_kept_link *l;

	for (l = of->children; l; l = l->next)
		if (l->by->name.id && l->by->kind->follows)
			return l->by;
	return NULL;
}

/* The recursion is no deeper than there are kinds. */
static void end_followers(struct wh_kept *k)
{
	struct wh_kept *f;

	while ((f = follower(k)) != NULL)
		wh_kept_finish(f);
}

void wh_kept_finish(struct wh_kept *k)
{
	struct wh_kept *f, *next;

	k->refs++;
	/* Objects that were made of a copy end as well, since nobody else ends them. */
	for (f = k->copies; f; f = next) {
		f->refs++;
		end_followers(f);
		/* The copy is still held, and only now it is known which one is next. */
		next = f->next_copy;
		wh_kept_release(f);
	}
	k->ended = true;
	if (k->name.id) {
		wh_name_hide(&k->name);
		wh_kept_release(k);
	}
	end_followers(k);
	wh_kept_release(k);
}

/* --- Names ------------------------------------------------------------------------------- */

void wh_kept_write(const struct wh_kept *k, void *p)
{
	struct named n = { .steps = k->steps };

	wh_opaque_make(&n.head, k->kind->type, k->name.id);
	memcpy(p, &n, sizeof(n));
}

void wh_kept_show(struct wh_kept *k, void *out)
{
	wh_name_show(&names, &k->name);
	k->home = out;
	if (k->kind->type)
		wh_kept_write(k, out);
	else
		memcpy(out, &k->name.id, sizeof(k->name.id));
}

struct wh_kept *wh_kept_find(uint64_t name)
{
	return (struct wh_kept *)wh_name_find(&names, (const void *)(uintptr_t)name);
}

struct wh_kept *wh_kept_find_kind(const struct wh_kept_kind *kind, uint64_t name)
{
	const void *p = (const void *)(uintptr_t)name;
	struct wh_kept *k;

	if (kind->type && !wh_opaque_is(p, kind->type))
		return NULL;
	k = wh_kept_find(kind->type ? wh_opaque_id(p) : name);
	return k && k->kind == kind ? k : NULL;
}

/*
 * Also returns how many of its steps the struct has. If the worker's descriptor is the object's
 * own, the count does not matter.
 */
static struct wh_kept *look(const struct wh_kept_kind *kind, const void *p, uint32_t *steps)
{
	struct wh_kept *k = wh_kept_find_kind(kind, (uintptr_t)p);
	struct named n;

	if (!k)
		return NULL;
	memcpy(&n, p, sizeof(n));
	*steps = n.steps;
	return k->own || n.steps <= k->steps ? k : NULL;
}

/* --- Copies ------------------------------------------------------------------------------ */

static size_t size_of(const struct wh_log *l, uint32_t steps)
{
	const struct wh_record *r = NULL;

	for (; steps; steps--)
		r = wh_record_next(l, r);
	return r ? (const uint8_t *)r + wh_record_bytes(r) - l->bytes : 0;
}

/* Makes an object that is like `of` after so many of its steps, for the struct at `home`. Held. */
static struct wh_kept *copy(struct wh_kept *of, uint32_t steps, const void *home)
{
	struct wh_kept *parents[WH_KEPT_PARENTS], *k;
	const size_t size = size_of(&of->log, steps);
	uint32_t i;

	for (i = 0; i < of->parents; i++)
		parents[i] = of->parent[i].of;
	k = wh_kept_new(of->kind, parents, of->parents);
	if (!k)
		return NULL;
	k->log.bytes = malloc(size + 1);
	if (!k->log.bytes) {
		wh_kept_release(k);
		return NULL;
	}
	memcpy(k->log.bytes, of->log.bytes, size);
	k->log.size = size;
	k->steps = k->as_of = steps;
	k->home = home;
	k->first = of;
	of->refs++;
	k->next_copy = of->copies;
	of->copies = k;
	return k;
}

/* Returns the copy at that place, since something may have been made of it already. Held. */
static struct wh_kept *copy_at(struct wh_kept *of, uint32_t steps, const void *home)
{
	struct wh_kept *k;

	for (k = of->copies; k; k = k->next_copy)
		if (k->home == home && k->as_of == steps) {
			k->refs++;
			return k;
		}
	return copy(of, steps, home);
}

struct wh_kept *wh_kept_take(const struct wh_kept_kind *kind, const void *p)
{
	uint32_t steps;
	struct wh_kept *k = look(kind, p, &steps);

	if (k && p != k->home && !k->own)
		return copy_at(k, steps, p);
	if (k)
		k->refs++;
	return k;
}

/*
 * Drops steps that later ones have made void, for a struct that is set again and again. It gets
 * another name then, and older copies are not known any more.
 */
static void drop_void(struct wh_kept *k, void *p)
{
	struct wh_record *r, *next = wh_record_next(&k->log, NULL);
	struct wh_log old = k->log;
	struct wh_kept *c;
	uint8_t *to = old.bytes;

	if (k->own || k->steps < MANY)
		return;
	/* It goes from the front, so the records behind one are still there. */
	while ((r = next)) {
		const size_t n = wh_record_bytes(r);

		next = wh_record_next(&old, r);
		if (wh_kept_is_void(&old, r)) {
			k->steps--;
			continue;
		}
		memmove(to, r, n);
		to += n;
	}
	k->log.size = to - old.bytes;
	for (c = k->copies; c; c = c->next_copy)
		c->as_of = UINT32_MAX;
	wh_kept_show(k, p);
}

struct wh_kept *wh_kept_take_own(const struct wh_kept_kind *kind, void *p)
{
	uint32_t steps;
	struct wh_kept *k = look(kind, p, &steps), *own;

	if (!k)
		return NULL;
	if (p == k->home || k->own) {
		drop_void(k, p);
		k->refs++;
		return k;
	}
	own = copy_at(k, steps, p);
	if (own) {
		own->refs++;
		wh_kept_show(own, p);
		leave_first(own);
	}
	return own;
}

/* --- Logs -------------------------------------------------------------------------------- */

static bool voids(const struct wh_record *later, const struct wh_record *r)
{
	return later->replaces && later->call == r->call &&
	       (!r->key || !memcmp(wh_record_request(later) + r->key,
				   wh_record_request(r) + r->key, sizeof(uint32_t)));
}

bool wh_kept_is_void(const struct wh_log *l, const struct wh_record *r)
{
	const struct wh_record *later;

	for (later = wh_record_next(l, r); later; later = wh_record_next(l, later))
		if (voids(later, r))
			return true;
	return false;
}

bool wh_kept_closure(struct wh_kept *k, struct wh_kept_set *set)
{
	uint32_t i;

	for (i = 0; i < set->n; i++)
		if (set->object[i] == k)
			return true;
	for (i = 0; i < k->parents; i++)
		if (!wh_kept_closure(k->parent[i].of, set))
			return false;
	if (set->n == WH_MADE_PLACES)
		return false;
	for (i = set->n++; i && set->object[i - 1]->born > k->born; i--)
		set->object[i] = set->object[i - 1];
	set->object[i] = k;
	set->owned |= k->own;
	return true;
}

static uint64_t place_of(const struct wh_kept_set *set, const struct wh_kept *k)
{
	uint64_t i;

	for (i = 0; set->object[i] != k; i++)
		;
	return i;
}

/* Returns the next thing that was done to any object of the set. NULL: that was all. */
static const struct wh_record *earliest(const struct wh_kept_set *set,
					const struct wh_record *const *done, uint32_t *place)
{
	const struct wh_record *r, *first = NULL;
	uint32_t i;

	for (i = 0; i < set->n; i++) {
		if (set->object[i]->own)
			continue;
		r = wh_record_next(&set->object[i]->log, done[i]);
		if (r && (!first || r->when < first->when)) {
			first = r;
			*place = i;
		}
	}
	return first;
}

static void log_record(const struct wh_kept_set *set, uint32_t place, const struct wh_record *r,
		       struct wh_log *log)
{
	struct wh_record *out = (struct wh_record *)(log->bytes + log->size);
	const struct wh_kept *k = set->object[place];
	uint32_t i;

	memcpy(out, r, wh_record_bytes(r));
	out->when = 0;
	out->place = place;
	for (i = 0; i < k->parents && r->makes; i++)
		wh_record_refs(out)[i] = place_of(set, k->parent[i].of);
	log->size += wh_record_bytes(r);
}

bool wh_kept_log(const struct wh_kept_set *set, struct wh_log *log)
{
	const struct wh_record *done[WH_MADE_PLACES] = { NULL }, *r;
	size_t size = 1;
	uint32_t i;

	for (i = 0; i < set->n; i++)
		size += set->object[i]->log.size;
	*log = (struct wh_log) { .bytes = malloc(size) };
	while (log->bytes && (r = earliest(set, done, &i)) != NULL) {
		done[i] = r;
		if (!wh_kept_is_void(&set->object[i]->log, r))
			log_record(set, i, r, log);
	}
	return log->bytes;
}
