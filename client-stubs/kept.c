// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps descriptors that a library only reads (kept.h). Each is kept as the requests that would
 * have made and set it. If the library has accepted the same request before, after the same
 * earlier ones, it is accepted again without a call. Other requests are sent, and the library
 * judges them. A call that reads the descriptor gets a descriptor of the worker that was made
 * alike (made.c).
 *
 * A call may change a descriptor in a way that no request says. Such a descriptor then has one
 * of its own in the worker, and so have all that it was made of and that were made of it. Every
 * call to it is then a call to the worker.
 */
#include "kept_object.h"

#include <stdlib.h>

#include "compiler.h"
#include "wire.h"

#define LONGEST	4096u		/* the most bytes of a request */

/* Protects all objects, except those of a kind that is alone, which need no lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
WH_IN_CHILD(pthread_mutex_init(&lock, NULL))

/* --- The worker's own -------------------------------------------------------------------- */

static void become_own(struct wh_kept *k, uint64_t real)
{
	if (k->own)
		return;
	k->own = true;
	__atomic_store_n(&k->real, real, __ATOMIC_RELEASE);
}

/*
 * Objects that were made of `k` would not see what is done to it from now on, or that it has
 * ended.
 */
static void own_children(const struct wh_kept *k)
{
	const struct wh_kept_link *l;

	/* A failure is reported when the child is used. */
	for (l = k->children; l; l = l->next)
		wh_kept_make_own(l->by);
}

static struct wh_outcome own_all(struct wh_kept_set *set)
{
	uint64_t real[WH_MADE_PLACES];
	struct wh_outcome o = WH_GOOD;
	struct wh_log log;
	uint32_t i;

	if (!wh_kept_log(set, &log))
		return WH_NO_MEMORY;
	for (i = 0; i < set->n; i++) {
		wh_kept_let_go(set->object[i]);
		real[i] = set->object[i]->own ? set->object[i]->real : 0;
	}
	/* If an address is kept, the worker is asked again. A kind that is alone keeps none. */
	if (!set->object[0]->kind->alone || !wh_made_take(&log, real))
		o = wh_log_run(&log, real);
	free(log.bytes);
	for (i = 0; i < set->n && wh_good(o); i++)
		become_own(set->object[i], real[i]);
	for (i = 0; i < set->n && wh_good(o); i++)
		own_children(set->object[i]);
	return o;
}

struct wh_outcome wh_kept_make_own(struct wh_kept *k)
{
	struct wh_kept_set set = { .n = 0 };

	if (k->own)
		return WH_GOOD;
	return wh_kept_closure(k, &set) ? own_all(&set) : WH_NO_MEMORY;
}

/* --- Steps ------------------------------------------------------------------------------- */

/*
 * Will the library always accept again what it has accepted? Not if a record has an address
 * that nobody is known to have: its memory may have been freed since. A descriptor that is made
 * of it then differs from one that is made of it when there is memory again
 * (server/session/held.h).
 */
static bool is_sure(const struct wh_log *l)
{
	const struct wh_record *r;
	uint64_t p;

	for (r = wh_record_next(l, NULL); r; r = wh_record_next(l, r)) {
		if (!r->address)
			continue;
		memcpy(&p, wh_record_request(r) + r->address, sizeof(p));
		if (p && !wh_range_has(p) && !wh_library_in_data((const void *)(uintptr_t)p, 1))
			return false;
	}
	return true;
}

/*
 * Changes the log as if the descriptor had been made with the address that is set now: the
 * address from before may be gone.
 */
static void made_with(struct wh_log *l, const struct wh_record *set)
{
	const struct wh_record *r;

	for (r = wh_record_next(l, NULL); r; r = wh_record_next(l, r))
		if (r->makes)
			memcpy(wh_record_request(r) + r->address,
			       wh_record_request(set) + set->address, sizeof(uint64_t));
}

static void append(struct wh_log *l, const struct wh_record *r)
{
	memcpy(l->bytes + l->size, r, wh_record_bytes(r));
	l->size += wh_record_bytes(r);
}

/*
 * Appends one more record to the log, and leaves out those that it makes void. A struct's log
 * keeps them, since a copy of the struct may still have them.
 */
static bool longer(const struct wh_kept *k, const struct wh_record *more, struct wh_log *out)
{
	const struct wh_record *r;

	*out = (struct wh_log) { .bytes = malloc(k->log.size + wh_record_bytes(more)) };
	if (!out->bytes)
		return false;
	for (r = wh_record_next(&k->log, NULL); r; r = wh_record_next(&k->log, r))
		if (k->kind->type || !more->replaces || r->call != more->call)
			append(out, r);
	if (more->address && !more->makes && !k->kind->type)
		made_with(out, more);
	else
		append(out, more);
	return true;
}

/* Collects all that was done to the object and to what it was made of. drop() frees the log. */
static bool whole(struct wh_kept *k, struct wh_log *log)
{
	struct wh_kept_set set = { .n = 0 };

	*log = k->kind->type ? (struct wh_log) { NULL, 0 } : k->log;
	return !k->kind->type || (wh_kept_closure(k, &set) && wh_kept_log(&set, log));
}

static void drop(const struct wh_kept *k, struct wh_log *log)
{
	if (k->kind->type)
		free(log->bytes);
}

/*
 * The object has `made` from now on. An object of which others may be made gives it back
 * instead, so that they can take it.
 */
static void keep(struct wh_kept *k, struct wh_made *made)
{
	if (k->kind->type && !k->kind->now) {
		wh_made_leave(made);
		return;
	}
	k->made = made;
	if (made)
		__atomic_store_n(&k->real, wh_made_real(made), __ATOMIC_RELEASE);
}

/* Lets the worker run the step, behind what was done `before` to this object alone. */
static struct wh_outcome ask(struct wh_kept *k, const struct wh_log *before,
			     const struct wh_record *step, const struct wh_log *after,
			     struct wh_made **made)
{
	const struct wh_log now = k->log;
	struct wh_outcome o = WH_NO_MEMORY;
	struct wh_log log;

	k->log = *before;
	if (whole(k, &log))
		o = wh_made_extend(&log, k->kind->type ? wh_log_last(after) : step, after, made);
	drop(k, &log);
	k->log = now;
	return o;
}

/* Returns the library's judgement of all that was done to the object. */
static struct wh_outcome judge(struct wh_kept *k, const struct wh_log *before,
			       const struct wh_record *step, const struct wh_log *after)
{
	struct wh_kept_set set = { .n = 0 };
	struct wh_made *made = NULL;
	struct wh_outcome o = WH_GOOD;

	if (!wh_kept_closure(k, &set))
		return WH_NO_MEMORY;
	/* The worker's descriptor that the object has is no better than another one made alike. */
	wh_kept_let_go(k);
	if (k->kind->own || set.owned || !is_sure(after))
		return own_all(&set);
	if (!wh_log_known(after))
		o = ask(k, before, step, after, &made);
	else if (step->now)
		o = wh_made_get(after, &made);
	if (wh_good(o))
		keep(k, made);
	return o;
}

static struct wh_outcome one_more(struct wh_kept *k, const struct wh_record *step)
{
	struct wh_outcome o = WH_NO_MEMORY;
	struct wh_log old = k->log, log, after;

	if (!longer(k, step, &log))
		return o;
	k->log = log;
	if (whole(k, &after))
		o = judge(k, &old, step, &after);
	drop(k, &after);
	if (wh_good(o)) {
		wh_record_hold(step);
		free(old.bytes);
		k->steps++;
		k->note = 0;
		k->altered = false;
	} else {
		free(k->log.bytes);
		k->log = old;
	}
	return o;
}

/* Runs a step on an object that has one of its own in the worker. The record has just one place. */
static struct wh_outcome run_own(struct wh_kept *k, const struct wh_record *step)
{
	struct wh_outcome o = wh_record_run(step, &k->real);
	struct wh_log log;

	if (!wh_good(o) || k->kind->type)
		return o;
	/* The worker does not need the log any more. It still says what was set. */
	k->note = 0;
	k->altered = !longer(k, step, &log);
	if (!k->altered) {
		free(k->log.bytes);
		k->log = log;
	}
	return o;
}

struct wh_outcome wh_kept_step(struct wh_kept *k, const struct wh_record *step)
{
	return k->own ? run_own(k, step) : one_more(k, step);
}

bool wh_kept_note_refused(struct wh_kept *k, const struct wh_record *step)
{
	struct wh_log log;

	if (!longer(k, step, &log))
		return false;
	wh_kept_let_go(k);
	free(k->log.bytes);
	k->log = log;
	k->steps++;
	return true;
}

/* Was anything made of it that the worker already has? */
static bool now_of(const struct wh_kept *k)
{
	const struct wh_kept_link *l;

	for (l = k->children; l; l = l->next)
		if (l->by->kind->now || now_of(l->by))
			return true;
	return false;
}

/* Was anything made of it that saw another value of what is set now? */
static bool was_seen(const struct wh_kept *k, const struct wh_record *step)
{
	const struct wh_kept_link *l;
	const struct wh_record *r;

	for (r = wh_record_next(&k->log, NULL); r; r = wh_record_next(&k->log, r))
		for (l = k->children; l; l = l->next)
			if (r->call == step->call && r->when < l->by->born &&
			    !memcmp(wh_record_request(r) + r->key,
				    wh_record_request(step) + step->key, sizeof(uint32_t)))
				return true;
	return false;
}

static struct wh_outcome set(struct wh_kept *k, const struct wh_record *step)
{
	struct wh_kept_set all = { .n = 0 };
	struct wh_outcome o;

	if (!wh_kept_closure(k, &all))
		return WH_NO_MEMORY;
	/* No order of steps says what the object is to those that were made of it before. */
	if (all.owned || now_of(k) || was_seen(k, step)) {
		o = wh_kept_make_own(k);
		return wh_good(o) ? run_own(k, step) : o;
	}
	return wh_kept_step(k, step);
}

/* --- For calls --------------------------------------------------------------------------- */

/*
 * Finds or makes a descriptor of the worker that is like the object, and holds it. `*made` is
 * NULL if the object has its own.
 */
static struct wh_outcome find_made(struct wh_kept *k, struct wh_made **made)
{
	struct wh_kept_set set = { .n = 0 };
	struct wh_outcome o = WH_NO_MEMORY;
	struct wh_log log;

	*made = k->made;
	if (k->own || k->made) {
		if (k->made)
			wh_made_hold(k->made);
		return WH_GOOD;
	}
	if (!wh_kept_closure(k, &set))
		return o;
	if (set.owned)
		return own_all(&set);
	if (!whole(k, &log))
		return o;
	o = k->kind->type || is_sure(&log) ? wh_made_get(&log, made) : own_all(&set);
	drop(k, &log);
	return o;
}

static struct wh_outcome find_real(struct wh_kept *k, uint64_t *real)
{
	struct wh_outcome o = WH_GOOD;
	struct wh_made *made;

	if (!k->real) {
		o = find_made(k, &made);
		if (wh_good(o) && made)
			keep(k, made);
	}
	*real = k->real;
	return o;
}

static void lock_for(const struct wh_kept_kind *kind)
{
	if (!kind->alone)
		pthread_mutex_lock(&lock);
}

static void unlock_for(const struct wh_kept_kind *kind)
{
	if (!kind->alone)
		pthread_mutex_unlock(&lock);
}

uint64_t wh_kept_real(const struct wh_kept_kind *kind, uint64_t name)
{
	struct wh_kept *k = wh_kept_find_kind(kind, name);
	uint64_t real;

	if (!k)
		return name;
	real = __atomic_load_n(&k->real, __ATOMIC_ACQUIRE);
	if (WH_LIKELY(real != 0))
		return real;
	lock_for(kind);
	find_real(k, &real);
	unlock_for(kind);
	/* If the worker has none, the program's name is no name in the worker either. */
	return real ? real : name;
}

uint64_t wh_kept_own(uint64_t name)
{
	struct wh_kept *k = wh_kept_find(name);
	uint64_t real;

	if (!k)
		return name;
	lock_for(k->kind);
	k->note = 0;
	k->altered = true;
	real = wh_good(wh_kept_make_own(k)) ? k->real : 0;
	unlock_for(k->kind);
	return real ? real : name;
}

static struct wh_outcome use(const struct wh_kept_kind *kind, const void *p, int32_t bad,
			     bool own, struct wh_kept_use *use)
{
	struct wh_outcome o = { .answered = true, .res = bad };
	struct wh_kept *k;

	*use = (struct wh_kept_use) { NULL, 0 };
	lock_for(kind);
	k = wh_kept_take(kind, p);
	if (k) {
		o = own ? wh_kept_make_own(k) : find_made(k, &use->made);
		use->real = use->made ? wh_made_real(use->made) : k->real;
	}
	wh_kept_release(k);
	unlock_for(kind);
	return o;
}

struct wh_outcome wh_kept_begin_use(const struct wh_kept_kind *kind, const void *p, int32_t bad,
				    struct wh_kept_use *it)
{
	return use(kind, p, bad, false, it);
}

struct wh_outcome wh_kept_begin_change(const struct wh_kept_kind *kind, const void *p, int32_t bad,
				       struct wh_kept_use *it)
{
	return use(kind, p, bad, true, it);
}

void wh_kept_end_use(struct wh_kept_use *it)
{
	wh_made_leave(it->made);
}

uint64_t wh_kept_about(const struct wh_kept_kind *kind, const void *p)
{
	struct wh_kept_set set = { .n = 0 };
	uint64_t about = 0;
	struct wh_kept *k;
	struct wh_log log;

	lock_for(kind);
	k = wh_kept_take(kind, p);
	if (k && wh_kept_closure(k, &set) && !set.owned && wh_kept_log(&set, &log)) {
		about = wh_log_hash(&log);
		free(log.bytes);
	}
	wh_kept_release(k);
	unlock_for(kind);
	return about;
}

/* --- For generated code ------------------------------------------------------------------ */

void *wh_kept_begin(struct wh_call *c, uint32_t number, size_t size)
{
	struct wh_record *r;

	/* No descriptor's request that makes sense is longer. */
	c->result = size > LONGEST ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	r = size <= LONGEST ? calloc(1, sizeof(*r) + size + 8) : NULL;
	if (!r)
		return NULL;
	r->call = number;
	r->size = size;
	c->msg = wh_record_request(r);
	c->size = size;
	return c->msg;
}

static struct wh_record *record_of(struct wh_call *c, const struct wh_kept_kind *kind,
				   const struct wh_kept_places *where, bool makes)
{
	struct wh_record *r = (struct wh_record *)c->msg - 1;
	struct wh_req *q = (struct wh_req *)c->msg;

	r->kind = kind;
	r->null = q->null;
	r->at = where->at;
	/* An address that the request does not have room for is not there, and is refused. */
	r->address = where->address < r->size ? where->address : 0;
	r->key = where->key;
	r->makes = makes;
	r->replaces = !makes;
	r->now = makes && kind->now;
	while (r->refs < WH_KEPT_PARENTS && where->parent[r->refs])
		r->refs++;
	r->refs_at = where->parents;
	/* The other members of the head are filled in by the thread that sends the request. */
	memset(q, 0, sizeof(*q));
	return r;
}

/* Holds the objects of which one is made. False: one of the structs is no descriptor. */
static bool take_parents(const struct wh_record *r, const struct wh_kept_places *where,
			 struct wh_kept **parents)
{
	uint64_t *name = wh_record_refs(r);
	bool all = true;
	uint32_t i;

	for (i = 0; i < r->refs; i++) {
		parents[i] = wh_kept_take(where->parent[i], (const void *)(uintptr_t)name[i]);
		name[i] = 0;
		all &= parents[i] != NULL;
	}
	return all;
}

static struct wh_outcome make(const struct wh_kept_kind *kind, struct wh_record *r,
			      struct wh_kept *const *parents, void *out)
{
	struct wh_kept *k;
	struct wh_outcome o;

	/* The step comes after parents that have become objects just now. */
	r->when = kind->type ? wh_kept_now() : 0;
	k = wh_kept_new(kind, parents, r->refs);
	if (!k)
		return WH_NO_MEMORY;
	o = wh_kept_step(k, r);
	if (wh_good(o))
		wh_kept_show(k, out);
	else
		wh_kept_release(k);
	return o;
}

struct wh_outcome wh_kept_make(struct wh_call *c, const struct wh_kept_kind *kind,
			       struct wh_kept_places where, void *out, int32_t bad)
{
	struct wh_record *r = record_of(c, kind, &where, true);
	struct wh_kept *parents[WH_KEPT_PARENTS] = { NULL };
	struct wh_outcome o = { .answered = true, .res = bad };
	uint32_t i;

	lock_for(kind);
	if (take_parents(r, &where, parents))
		o = make(kind, r, parents, out);
	for (i = 0; i < r->refs; i++)
		wh_kept_release(parents[i]);
	unlock_for(kind);
	free(r);
	return o;
}

static struct wh_outcome set_struct(const struct wh_kept_kind *kind, void *p,
				    struct wh_record *r, int32_t bad)
{
	struct wh_kept *k = wh_kept_take_own(kind, p);
	struct wh_outcome o = { .answered = true, .res = bad };

	r->when = wh_kept_now();
	if (k)
		o = set(k, r);
	if (k && wh_good(o))
		wh_kept_write(k, p);
	wh_kept_release(k);
	return o;
}

struct wh_outcome wh_kept_set(struct wh_call *c, const struct wh_kept_kind *kind, uint64_t name,
			      struct wh_kept_places where, int32_t bad)
{
	struct wh_record *r = record_of(c, kind, &where, false);
	struct wh_outcome o = { .answered = true, .res = bad };
	struct wh_kept *k;

	lock_for(kind);
	if (kind->type) {
		o = set_struct(kind, (void *)(uintptr_t)name, r, bad);
	} else {
		k = wh_kept_find_kind(kind, name);
		o = k ? wh_kept_step(k, r) : o;
	}
	unlock_for(kind);
	free(r);
	return o;
}

struct wh_outcome wh_kept_end(const struct wh_kept_kind *kind, uint64_t name, int32_t bad)
{
	struct wh_outcome o = { .answered = true, .res = bad };
	struct wh_kept *k;

	lock_for(kind);
	k = wh_kept_find_kind(kind, name);
	/* Descriptors that were made with this one must end before it. */
	if (k && kind->own)
		wh_made_end_idle();
	if (k)
		o = k->own ? wh_real_destroy(kind, k->real) : WH_GOOD;
	else if (!name && !kind->type)
		/* The library says what happens if nothing is ended. */
		o = wh_real_destroy(kind, 0);
	if (k && wh_good(o))
		wh_kept_finish(k);
	unlock_for(kind);
	return o;
}
