// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptors that a library only reads (kept.h). To the program one is a name; here it is the
 * requests that would have made and set it. Requests that the library has taken before, after
 * the same ones, are taken again without a call; those that it has not are sent, and are the
 * library's to judge. A call that reads the descriptor gets one of the worker's that was
 * made alike, which serves all such descriptors and stays for later ones. What a
 * call may change is the program's own, in the worker, and every call to it is one to the worker.
 * Owns these names, the worker's descriptors, and what the library takes.
 */
#include "kept.h"

#include <stdlib.h>

#include "names.h"
#include "steps.h"
#include "wire.h"

#define TAG	0xfd00000000000000ULL
#define MOST	(1u << 18)	/* descriptors of a program at a time */
#define BUCKETS	1024u
#define IDLE	1024u		/* of the worker's, that nobody has: the oldest end */
#define LONGEST	4096u		/* bytes of a request */

/* One request, and its bytes behind it, padded. */
struct record {
	uint32_t call;
	uint32_t null;
	uint32_t size;		/* of the request */
	uint32_t at;		/* of the descriptor in it; of one that makes it, in the response */
	uint32_t makes;
	uint32_t address;	/* in it, which the descriptor keeps, or 0 */
};

struct log {
	uint8_t *bytes;
	size_t size;
};

/* A descriptor of the worker's. */
struct shared {
	struct shared *next, **place;	/* in its bucket */
	struct shared *older, *newer;	/* of those that nobody has */
	struct wh_kept_kind *kind;
	struct log log;
	uint64_t hash;
	uint64_t real;
	uint32_t users;
};

struct kept {
	struct wh_name name;
	uint64_t real;		/* for calls; 0: not known yet */
	bool own;		/* it is this one's alone */
	struct wh_kept_kind *kind;
	struct log log;
	struct shared *shared;
};

static struct wh_name *all[MOST];
static struct wh_names names = {
	.all = all,
	.most = MOST,
	.size = sizeof(struct kept),
	.tag = TAG,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of all that is below */
static struct shared *bucket[BUCKETS];
static struct shared *oldest, *newest;
static uint32_t idle;

/* They are the parent's worker's. Another thread may have had the lock. */
static void forget(void)
{
	pthread_mutex_init(&lock, NULL);
	wh_names_forget(&names);
	wh_steps_forget();
	memset(bucket, 0, sizeof(bucket));
	oldest = newest = NULL;
	idle = 0;
}
WH_IN_CHILD(forget())

static struct kept *find(uint64_t name)
{
	return (struct kept *)wh_name_find(&names, (const void *)(uintptr_t)name);
}

/* --- Logs -------------------------------------------------------------------------------- */

static size_t record_bytes(const struct record *r)
{
	return sizeof(*r) + ((r->size + 7) & ~(size_t)7);
}

static const struct record *next(const struct log *l, const struct record *r)
{
	const uint8_t *p = r ? (const uint8_t *)r + record_bytes(r) : l->bytes;

	return p && p < l->bytes + l->size ? (const struct record *)p : NULL;
}

static uint64_t hash_of(const struct wh_kept_kind *kind, const struct log *l)
{
	uint64_t h = wh_step_mix(0x6b657074, kind->end), w;
	size_t i;

	for (i = 0; i < l->size; i += sizeof(w)) {
		memcpy(&w, l->bytes + i, sizeof(w));
		h = wh_step_mix(h, w);
	}
	return h;
}

static bool copy(const struct log *l, struct log *out)
{
	out->size = l->size;
	out->bytes = malloc(l->size);
	if (out->bytes)
		memcpy(out->bytes, l->bytes, l->size);
	return out->bytes;
}

static uint8_t *address_in(const struct record *r)
{
	return (uint8_t *)(r + 1) + r->address;
}

/* The log, as if it had been made with the address that is set: that of before may be gone. */
static bool made_with(const struct log *l, const struct record *set, struct log *out)
{
	const struct record *r;

	if (!copy(l, out))
		return false;
	for (r = next(out, NULL); r; r = next(out, r))
		if (r->makes)
			memcpy(address_in(r), address_in(set), sizeof(uint64_t));
	return true;
}

/* The log, and one more request, behind which an earlier one of the same call is void. */
static bool longer(const struct log *l, const struct record *more, struct log *out)
{
	const struct record *r;

	if (more->address && !more->makes)
		return made_with(l, more, out);
	out->bytes = malloc(l->size + record_bytes(more));
	out->size = 0;
	if (!out->bytes)
		return false;
	for (r = next(l, NULL); r; r = next(l, r)) {
		if (r->call == more->call && !r->makes)
			continue;
		memcpy(out->bytes + out->size, r, record_bytes(r));
		out->size += record_bytes(r);
	}
	memcpy(out->bytes + out->size, more, record_bytes(more));
	out->size += record_bytes(more);
	return true;
}

/* --- In the worker ----------------------------------------------------------------------- */

/* What a call to the worker came to. */
struct outcome {
	bool answered;
	CUresult lost;		/* why not */
	int32_t res;
};

static bool good(struct outcome o)
{
	return o.answered && !o.res;
}

/* `bytes` of a request behind its head. With `made`, it makes a descriptor. */
static struct outcome call(struct wh_library *library, const struct record *r,
			   const uint8_t *request, uint64_t real, uint64_t *made)
{
	const size_t answer = made ? r->at + sizeof(*made) : sizeof(struct wh_rsp);
	struct outcome o = { .answered = false };
	struct wh_req *q;
	struct wh_call c;

	q = wh_library_begin(&c, library, r->call, r->size);
	if (!q) {
		o.lost = c.result;
		return o;
	}
	memcpy(q + 1, request + sizeof(*q), r->size - sizeof(*q));
	q->null = r->null;
	if (!made)
		memcpy((uint8_t *)q + r->at, &real, sizeof(real));
	o.answered = wh_library_run(&c, answer);
	o.lost = c.result;
	if (o.answered)
		o.res = ((struct wh_rsp *)c.rsp)->result;
	if (made && good(o))
		memcpy(made, (uint8_t *)c.rsp + r->at, sizeof(*made));
	wh_end(&c);
	return o;
}

static struct outcome run(struct wh_kept_kind *kind, const struct record *r, uint64_t *real)
{
	return call(kind->library, r, (const uint8_t *)(r + 1), *real, r->makes ? real : NULL);
}

static struct outcome destroy(struct wh_kept_kind *kind, uint64_t real)
{
	const struct record r = { .call = kind->end, .size = kind->end_size, .at = kind->end_at };
	uint64_t request[32] = { 0 };

	return call(kind->library, &r, (const uint8_t *)request, real, NULL);
}

static struct outcome build(struct wh_kept_kind *kind, const struct log *l, uint64_t *real)
{
	struct outcome o = { .answered = true };
	const struct record *r;

	*real = 0;
	for (r = next(l, NULL); r && good(o); r = next(l, r))
		o = run(kind, r, real);
	if (!good(o) && *real)
		destroy(kind, *real);
	return o;
}

/* --- The worker's ------------------------------------------------------------------------ */

static void unlist_idle(struct shared *s)
{
	*(s->older ? &s->older->newer : &oldest) = s->newer;
	*(s->newer ? &s->newer->older : &newest) = s->older;
	idle--;
}

static void unlist(struct shared *s)
{
	*s->place = s->next;
	if (s->next)
		s->next->place = s->place;
}

static void list(struct shared *s)
{
	s->place = &bucket[s->hash % BUCKETS];
	s->next = *s->place;
	if (s->next)
		s->next->place = &s->next;
	*s->place = s;
}

static void end(struct shared *s)
{
	destroy(s->kind, s->real);
	free(s->log.bytes);
	free(s);
}

static void leave(struct shared *s)
{
	if (!s || --s->users)
		return;
	s->newer = NULL;
	s->older = newest;
	*(newest ? &newest->newer : &oldest) = s;
	newest = s;
	if (++idle <= IDLE)
		return;
	s = oldest;
	unlist_idle(s);
	unlist(s);
	end(s);
}

static struct shared *look(struct wh_kept_kind *kind, uint64_t hash, const struct log *l)
{
	struct shared *s;

	for (s = bucket[hash % BUCKETS]; s; s = s->next)
		if (s->hash == hash && s->kind == kind && s->log.size == l->size &&
		    !memcmp(s->log.bytes, l->bytes, l->size))
			return s;
	return NULL;
}

static struct shared *take(struct wh_kept_kind *kind, uint64_t hash, const struct log *l)
{
	struct shared *s = look(kind, hash, l);

	if (s && !s->users++)
		unlist_idle(s);
	return s;
}

/* A new one, with a user; the descriptor ends if there is no memory. */
static struct shared *add(struct wh_kept_kind *kind, uint64_t hash, const struct log *l,
			  uint64_t real)
{
	struct shared *s = calloc(1, sizeof(*s));

	if (!s || !copy(l, &s->log)) {
		free(s);
		destroy(kind, real);
		return NULL;
	}
	s->kind = kind;
	s->hash = hash;
	s->real = real;
	s->users = 1;
	list(s);
	return s;
}

/* One of that state, to be changed: nobody has it, nor finds it any more. 0: there is none. */
static uint64_t take_away(struct wh_kept_kind *kind, const struct log *l)
{
	struct shared *s = look(kind, hash_of(kind, l), l);
	uint64_t real;

	if (!s || s->users)
		return 0;
	unlist_idle(s);
	unlist(s);
	real = s->real;
	free(s->log.bytes);
	free(s);
	return real;
}

/* --- Steps ------------------------------------------------------------------------------- */

static void let_go(struct kept *k)
{
	__atomic_store_n(&k->real, 0, __ATOMIC_RELEASE);
	leave(k->shared);
	k->shared = NULL;
}

/*
 * Does the library take again what it has taken, for good? Not an address that nobody is known
 * to have: its memory may have been freed since, and what is made of it then is another
 * descriptor than what is made of it when there is memory again (server/session/held.h).
 */
static bool is_sure(const struct log *l)
{
	const struct record *r;
	uint64_t p;

	for (r = next(l, NULL); r; r = next(l, r)) {
		if (!r->address)
			continue;
		memcpy(&p, address_in(r), sizeof(p));
		if (p && !wh_range_has(p) && !wh_library_in_data((const void *)(uintptr_t)p, 1))
			return false;
	}
	return true;
}

static void make_own(struct kept *k, uint64_t real)
{
	k->own = true;
	__atomic_store_n(&k->real, real, __ATOMIC_RELEASE);
}

/* The library has taken it, and one in the worker is so now. */
static void show(struct kept *k, uint64_t hash, const struct log *after, uint64_t real)
{
	wh_step_learn(hash);
	if (look(k->kind, hash, after))
		destroy(k->kind, real);
	else
		k->shared = add(k->kind, hash, after, real);
	if (k->shared)
		__atomic_store_n(&k->real, real, __ATOMIC_RELEASE);
}

/* The library's word on one more request. */
static struct outcome judge(struct kept *k, const struct record *r, const struct log *after)
{
	const uint64_t hash = hash_of(k->kind, after);
	const bool sure = is_sure(after);
	struct outcome o = { .answered = true };
	uint64_t real = 0;

	/* The one that it has is as good as any. */
	let_go(k);
	if (sure && wh_step_known(hash))
		return o;
	if (k->log.size)
		real = take_away(k->kind, &k->log);
	if (!real) {
		o = build(k->kind, after, &real);
	} else {
		o = run(k->kind, r, &real);
		if (!good(o))
			destroy(k->kind, real);
	}
	if (!good(o))
		return o;
	if (sure)
		show(k, hash, after, real);
	else
		make_own(k, real);
	return o;
}

static struct outcome step(struct kept *k, const struct record *r)
{
	struct outcome o;
	struct log after;

	if (k->own)
		return run(k->kind, r, &k->real);
	if (!longer(&k->log, r, &after)) {
		o = (struct outcome) { .lost = CUDA_ERROR_OUT_OF_MEMORY };
		return o;
	}
	o = judge(k, r, &after);
	if (good(o)) {
		free(k->log.bytes);
		k->log = after;
	} else {
		free(after.bytes);
	}
	return o;
}

/* --- For generated code ------------------------------------------------------------------ */

void *wh_kept_begin(struct wh_call *c, uint32_t number, size_t size)
{
	struct record *r;

	/* None of a descriptor's that makes sense is longer. */
	c->result = size > LONGEST ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	r = size <= LONGEST ? calloc(1, sizeof(*r) + size + 8) : NULL;
	if (!r)
		return NULL;
	r->call = number;
	r->size = size;
	c->msg = (uint8_t *)(r + 1);
	c->size = size;
	return c->msg;
}

static struct record *record_of(struct wh_call *c, struct wh_kept_places where, bool makes)
{
	struct record *r = (struct record *)c->msg - 1;
	struct wh_req *q = (struct wh_req *)c->msg;

	r->null = q->null;
	r->at = where.at;
	r->address = where.address;
	r->makes = makes;
	/* The rest of the head is the thread's, when it is sent. */
	memset(q, 0, sizeof(*q));
	return r;
}

static bool say(struct wh_call *c, const struct outcome *o, int32_t *res)
{
	c->result = o->lost;
	*res = o->res;
	return o->answered;
}

static struct kept *new_kept(struct wh_kept_kind *kind)
{
	struct kept *k = (struct kept *)wh_name_take(&names);

	if (!k)
		return NULL;
	k->kind = kind;
	k->real = 0;
	k->own = false;
	k->shared = NULL;
	k->log = (struct log) { NULL, 0 };
	return k;
}

static void give_back(struct kept *k)
{
	free(k->log.bytes);
	k->log = (struct log) { NULL, 0 };
	wh_name_give(&names, &k->name);
}

bool wh_kept_make(struct wh_call *c, struct wh_kept_kind *kind, struct wh_kept_places where,
		  uint64_t *name, int32_t *res)
{
	struct record *r = record_of(c, where, true);
	struct outcome o = { .lost = CUDA_ERROR_OUT_OF_MEMORY };
	struct kept *k;

	pthread_mutex_lock(&lock);
	k = new_kept(kind);
	if (k) {
		o = step(k, r);
		if (good(o)) {
			wh_name_show(&names, &k->name);
			*name = k->name.id;
		} else {
			give_back(k);
		}
	}
	pthread_mutex_unlock(&lock);
	free(r);
	return say(c, &o, res);
}

bool wh_kept_set(struct wh_call *c, struct wh_kept_kind *kind, uint64_t name,
		 struct wh_kept_places where, int32_t bad, int32_t *res)
{
	struct record *r = record_of(c, where, false);
	struct outcome o = { .answered = true, .res = bad };
	struct kept *k;

	pthread_mutex_lock(&lock);
	k = find(name);
	if (k && k->kind == kind)
		o = step(k, r);
	pthread_mutex_unlock(&lock);
	free(r);
	return say(c, &o, res);
}

bool wh_kept_end(struct wh_call *c, struct wh_kept_kind *kind, uint64_t name, int32_t bad,
		 int32_t *res)
{
	struct outcome o = { .answered = true, .res = bad };
	struct kept *k;

	pthread_mutex_lock(&lock);
	k = find(name);
	if (k && k->kind == kind) {
		o.res = 0;
		if (k->own)
			o = destroy(kind, k->real);
	} else if (!name) {
		/* What becomes of nothing, the library says. */
		o = destroy(kind, 0);
	}
	if (k && k->kind == kind && good(o)) {
		wh_name_hide(&k->name);
		let_go(k);
		give_back(k);
	}
	pthread_mutex_unlock(&lock);
	return say(c, &o, res);
}

static uint64_t find_real(struct kept *k)
{
	uint64_t hash, real;

	if (k->real)
		return k->real;
	if (!is_sure(&k->log)) {
		if (good(build(k->kind, &k->log, &real)))
			make_own(k, real);
		return k->real;
	}
	hash = hash_of(k->kind, &k->log);
	k->shared = take(k->kind, hash, &k->log);
	if (!k->shared && good(build(k->kind, &k->log, &real)))
		k->shared = add(k->kind, hash, &k->log, real);
	if (k->shared)
		__atomic_store_n(&k->real, k->shared->real, __ATOMIC_RELEASE);
	return k->real;
}

uint64_t wh_kept_real(struct wh_kept_kind *kind, uint64_t name)
{
	struct kept *k = find(name);
	uint64_t real;

	if (!k || k->kind != kind)
		return name;
	real = __atomic_load_n(&k->real, __ATOMIC_ACQUIRE);
	if (__builtin_expect(real != 0, 1))
		return real;
	pthread_mutex_lock(&lock);
	real = find_real(k);
	pthread_mutex_unlock(&lock);
	/* Where there is none, the name is none of the worker's. */
	return real ? real : name;
}

uint64_t wh_kept_own(uint64_t name)
{
	struct kept *k = find(name);
	uint64_t real = 0;

	if (!k)
		return name;
	pthread_mutex_lock(&lock);
	if (!k->own && good(build(k->kind, &k->log, &real))) {
		let_go(k);
		make_own(k, real);
	}
	real = k->own ? k->real : 0;
	pthread_mutex_unlock(&lock);
	return real ? real : name;
}
