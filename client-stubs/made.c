// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptors in the worker (made.h). The library answers the same requests alike, so one
 * descriptor in the worker serves all that were made alike, at the same time and later. This
 * file owns these, and knows by hashes of all earlier steps which requests the library accepts.
 * A descriptor that nobody has stays for a while. What it refers to stays as long as it does,
 * so that nothing in the worker refers to what is gone. No lock is held while the worker is
 * called.
 */
#include "made.h"

#include <stdlib.h>

#define BUCKETS	1024u
#define IDLE	1024u		/* the most weight of those that nobody has; the oldest end first */
#define SETS	4096u
#define WAYS	8u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of all below but `steps` */
static struct wh_made *bucket[BUCKETS];
static struct wh_made *oldest, *newest;
static uint32_t idle;
/*
 * Hashes of what the library accepted, the last one learned first. It is always right to forget
 * one.
 */
static uint64_t steps[SETS][WAYS];

/*
 * In a fork's child, the descriptors belong to the parent's worker. Their memory is not read,
 * since another thread may have had the lock.
 */
static void forget(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(bucket, 0, sizeof(bucket));
	memset(steps, 0, sizeof(steps));
	oldest = newest = NULL;
	idle = 0;
}
WH_IN_CHILD(forget())

/* --- What the library takes -------------------------------------------------------------- */

static bool is_known(uint64_t hash)
{
	const uint64_t *s = steps[hash % SETS];
	uint32_t i;

	for (i = 0; i < WAYS; i++)
		if (__atomic_load_n(&s[i], __ATOMIC_RELAXED) == hash)
			return true;
	return false;
}

static void learn(uint64_t hash)
{
	uint64_t *s = steps[hash % SETS];
	uint32_t i;

	if (is_known(hash))
		return;
	for (i = WAYS - 1; i; i--)
		__atomic_store_n(&s[i], __atomic_load_n(&s[i - 1], __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
	__atomic_store_n(&s[0], hash, __ATOMIC_RELAXED);
}

bool wh_log_known(const struct wh_log *l)
{
	return is_known(wh_log_hash(l));
}

/* --- Logs -------------------------------------------------------------------------------- */

static struct wh_made *made_of(uint64_t ref)
{
	return ref < WH_MADE_PLACES ? NULL : (struct wh_made *)(uintptr_t)ref;
}

/* Returns the thread's current context. A process's first call makes one. */
static uint64_t context(const struct wh_kept_kind *kind)
{
	CUcontext ctx = NULL;

	if (cuCtxGetCurrent(&ctx) != CUDA_SUCCESS || !ctx) {
		wh_library_prepare(kind->library);
		cuCtxGetCurrent(&ctx);
	}
	return (uintptr_t)ctx;
}

static uint64_t hash_record(uint64_t h, const struct wh_record *r)
{
	const uint64_t *w = (const uint64_t *)r, *refs = wh_record_refs(r);
	const uint64_t *end = w + wh_record_bytes(r) / sizeof(*w);
	const struct wh_made *m;

	for (; w < end; w++) {
		m = w >= refs && w < refs + r->refs ? made_of(*w) : NULL;
		h = wh_mix(h, m ? m->hash : *w);
	}
	return h;
}

uint64_t wh_log_hash(const struct wh_log *l)
{
	const struct wh_record *r = wh_record_next(l, NULL);
	uint64_t h = r && r->kind->by_context ? context(r->kind) : 0;

	for (; r; r = wh_record_next(l, r))
		h = hash_record(h, r);
	return h;
}

static void for_refs(const struct wh_record *r, void (*act)(struct wh_made *m))
{
	uint32_t i;

	for (i = 0; i < r->refs; i++)
		if (made_of(wh_record_refs(r)[i]))
			act(made_of(wh_record_refs(r)[i]));
}

void wh_record_hold(const struct wh_record *r)
{
	for_refs(r, wh_made_hold);
}

static bool copy(const struct wh_log *l, struct wh_log *out)
{
	const struct wh_record *r;

	out->size = l->size;
	out->bytes = malloc(l->size + 1);
	if (!out->bytes)
		return false;
	memcpy(out->bytes, l->bytes, l->size);
	for (r = wh_record_next(out, NULL); r; r = wh_record_next(out, r))
		wh_record_hold(r);
	return true;
}

void wh_log_free(struct wh_log *l)
{
	const struct wh_record *r;

	for (r = wh_record_next(l, NULL); r; r = wh_record_next(l, r))
		for_refs(r, wh_made_leave);
	free(l->bytes);
	*l = (struct wh_log) { NULL, 0 };
}

struct wh_record *wh_log_last(const struct wh_log *l)
{
	struct wh_record *r, *last = NULL;

	for (r = wh_record_next(l, NULL); r; r = wh_record_next(l, r))
		last = r;
	return last;
}

static uint32_t places_in(const struct wh_log *l)
{
	const struct wh_record *r;
	uint32_t n = 1;

	for (r = wh_record_next(l, NULL); r; r = wh_record_next(l, r))
		n = r->place >= n ? r->place + 1u : n;
	return n;
}

/* --- In the worker ----------------------------------------------------------------------- */

struct wh_outcome wh_record_run(const struct wh_record *r, uint64_t *real)
{
	const size_t answer = r->makes ? r->at + sizeof(*real) : sizeof(struct wh_rsp);
	struct wh_outcome o = { .answered = false };
	struct wh_req *q;
	struct wh_call c;
	uint64_t *ref;
	uint32_t i;

	q = wh_library_begin(&c, r->kind->library, r->call, r->size);
	if (!q) {
		o.lost = c.result;
		return o;
	}
	memcpy(q + 1, wh_record_request(r) + sizeof(*q), r->size - sizeof(*q));
	q->null = r->null;
	ref = (uint64_t *)((uint8_t *)q + r->refs_at);
	for (i = 0; i < r->refs; i++)
		ref[i] = made_of(ref[i]) ? wh_made_real(made_of(ref[i])) : real[ref[i]];
	if (!r->makes)
		memcpy((uint8_t *)q + r->at, &real[r->place], sizeof(*real));
	o.answered = wh_library_run(&c, answer);
	o.lost = c.result;
	if (o.answered)
		o.res = ((struct wh_rsp *)c.rsp)->result;
	if (r->makes && wh_good(o))
		memcpy(&real[r->place], (uint8_t *)c.rsp + r->at, sizeof(*real));
	wh_end(&c);
	return o;
}

struct wh_outcome wh_real_destroy(const struct wh_kept_kind *kind, uint64_t real)
{
	struct {
		struct wh_record r;
		uint64_t request[32];
	} end = { .r = {
		.kind = kind, .call = kind->end, .size = kind->end_size, .at = kind->end_at,
	} };

	return wh_record_run(&end.r, &real);
}

void wh_real_end(const struct wh_kept_kind *kind, uint64_t real)
{
	struct wh_req *q;
	struct wh_call c;

	if (!real || !kind->end)
		return;
	q = wh_library_begin(&c, kind->library, kind->end, kind->end_size);
	if (!q)
		return;
	memset(q + 1, 0, kind->end_size - sizeof(*q));
	memcpy((uint8_t *)q + kind->end_at, &real, sizeof(real));
	wh_library_post(&c, kind->end_size, 1ULL << kind->end_at / 8);
	wh_end(&c);
}

/* Ends what a log has made, the last one first. */
static void end_real(const struct wh_log *l, const uint64_t *real)
{
	const struct wh_kept_kind *kind[WH_MADE_PLACES] = { NULL };
	const struct wh_record *r;
	uint32_t i;

	for (r = wh_record_next(l, NULL); r; r = wh_record_next(l, r))
		if (r->makes)
			kind[r->place] = r->kind;
	for (i = WH_MADE_PLACES; i--;)
		if (kind[i] && !kind[i]->follows)
			wh_real_end(kind[i], real[i]);
}

struct wh_outcome wh_log_run(const struct wh_log *l, uint64_t *real)
{
	struct wh_outcome o = WH_GOOD;
	const struct wh_record *r;

	for (r = wh_record_next(l, NULL); r && wh_good(o); r = wh_record_next(l, r)) {
		o = wh_record_run(r, real);
		if (o.answered && r->refused)
			o.res = 0;
	}
	if (!wh_good(o))
		end_real(l, real);
	return o;
}

/* --- Their life -------------------------------------------------------------------------- */

static uint32_t weight(const struct wh_made *m)
{
	return 1 + m->kind->weight;
}

/* rest() puts one into the list of those that nobody has; wake() takes it out. */
static void rest(struct wh_made *m)
{
	m->newer = NULL;
	m->older = newest;
	*(newest ? &newest->newer : &oldest) = m;
	newest = m;
	idle += weight(m);
}

static void wake(struct wh_made *m)
{
	*(m->older ? &m->older->newer : &oldest) = m->newer;
	*(m->newer ? &m->newer->older : &newest) = m->older;
	idle -= weight(m);
}

static void list(struct wh_made *m)
{
	m->at = &bucket[m->hash % BUCKETS];
	m->next = *m->at;
	if (m->next)
		m->next->at = &m->next;
	*m->at = m;
	m->listed = true;
}

static void unlist(struct wh_made *m)
{
	*m->at = m->next;
	if (m->next)
		m->next->at = m->at;
	m->listed = false;
}

static void discard(struct wh_made *m)
{
	if (m->kind->forget)
		m->kind->forget(m);
	wh_log_free(&m->log);
	free(m);
}

static void end(struct wh_made *m)
{
	end_real(&m->log, m->real);
	discard(m);
}

/* Ends the oldest descriptors that nobody has until at most so much weight is left. */
static void expire(uint32_t most)
{
	struct wh_made *m;

	do {
		pthread_mutex_lock(&lock);
		m = idle > most ? oldest : NULL;
		if (m) {
			wake(m);
			unlist(m);
		}
		pthread_mutex_unlock(&lock);
		if (m)
			end(m);
	} while (m);
}

void wh_made_end_idle(void)
{
	expire(0);
}

static void hold(struct wh_made *m)
{
	if (!m->users++)
		wake(m);
}

void wh_made_hold(struct wh_made *m)
{
	pthread_mutex_lock(&lock);
	hold(m);
	pthread_mutex_unlock(&lock);
}

void wh_made_leave(struct wh_made *m)
{
	bool last;

	if (!m)
		return;
	pthread_mutex_lock(&lock);
	last = !--m->users;
	if (last && m->listed)
		rest(m);
	last &= !m->listed;
	pthread_mutex_unlock(&lock);
	if (last)
		end(m);
	expire(IDLE);
}

/* --- How they are found, and made -------------------------------------------------------- */

static struct wh_made *look(uint64_t hash, const struct wh_log *l)
{
	struct wh_made *m;

	for (m = bucket[hash % BUCKETS]; m; m = m->next)
		if (m->hash == hash && m->log.size == l->size &&
		    !memcmp(m->log.bytes, l->bytes, l->size))
			return m;
	return NULL;
}

static struct wh_made *find(uint64_t hash, const struct wh_log *l)
{
	struct wh_made *m;

	pthread_mutex_lock(&lock);
	m = look(hash, l);
	if (m)
		hold(m);
	pthread_mutex_unlock(&lock);
	return m;
}

/* Returns one with that log that may be changed: nobody has it, and nobody finds it any more. */
static struct wh_made *take_away(const struct wh_log *l)
{
	const uint64_t hash = wh_log_hash(l);
	struct wh_made *m;

	pthread_mutex_lock(&lock);
	m = look(hash, l);
	if (m && m->users)
		m = NULL;
	if (m) {
		wake(m);
		unlist(m);
	}
	pthread_mutex_unlock(&lock);
	return m;
}

bool wh_made_take(const struct wh_log *l, uint64_t *real)
{
	struct wh_made *m = take_away(l);

	if (!m)
		return false;
	memcpy(real, m->real, m->places * sizeof(*real));
	discard(m);
	return true;
}

static const struct wh_kept_kind *kind_of(const struct wh_log *l)
{
	const uint32_t places = places_in(l);
	const struct wh_kept_kind *kind = NULL;
	const struct wh_record *r;

	for (r = wh_record_next(l, NULL); r; r = wh_record_next(l, r))
		if (r->place == places - 1)
			kind = r->kind;
	return kind;
}

/* Makes one that is not in the table. NULL: no memory. */
static struct wh_made *new_made(const struct wh_log *l, uint64_t hash, const uint64_t *real)
{
	struct wh_made *m = calloc(1, sizeof(*m));

	if (!m || !copy(l, &m->log)) {
		free(m);
		return NULL;
	}
	m->kind = kind_of(l);
	m->hash = hash;
	m->places = places_in(l);
	m->users = 1;
	memcpy(m->real, real, m->places * sizeof(*real));
	return m;
}

struct wh_made *wh_made_alone(const struct wh_log *l, uint64_t hash, uint64_t real)
{
	return new_made(l, hash, &real);
}

/* Puts a new one into the table, with a user. If another thread was faster, its one is used. */
static struct wh_outcome add(const struct wh_log *l, uint64_t hash, const uint64_t *real,
			     struct wh_made **made)
{
	struct wh_made *m = new_made(l, hash, real), *other;

	if (!m) {
		end_real(l, real);
		return WH_NO_MEMORY;
	}
	pthread_mutex_lock(&lock);
	other = look(hash, l);
	if (other)
		hold(other);
	else
		list(m);
	pthread_mutex_unlock(&lock);
	*made = m;
	if (other) {
		end(m);
		*made = other;
	}
	return WH_GOOD;
}

/*
 * Idle descriptors may have much of the device's memory. Rather than fail, end them and try
 * again.
 */
static bool makes_room(const struct wh_log *l, struct wh_outcome o)
{
	const int32_t *full = kind_of(l)->full;
	const uint32_t before = idle;

	if (!o.answered || !o.res || (o.res != full[0] && o.res != full[1]))
		return false;
	expire(0);
	return before;
}

static struct wh_outcome build(const struct wh_log *l, uint64_t *real)
{
	struct wh_outcome o = wh_log_run(l, real);

	return makes_room(l, o) ? wh_log_run(l, real) : o;
}

struct wh_outcome wh_made_get(const struct wh_log *l, struct wh_made **made)
{
	const uint64_t hash = wh_log_hash(l);
	uint64_t real[WH_MADE_PLACES] = { 0 };
	struct wh_outcome o;

	*made = find(hash, l);
	if (*made)
		return WH_GOOD;
	o = build(l, real);
	return wh_good(o) ? add(l, hash, real, made) : o;
}

/* Runs one more step on a descriptor that nobody has. If it fails, nobody knows what it left. */
static struct wh_outcome extend(struct wh_made *m, const struct wh_record *step,
				const struct wh_log *after, uint64_t *real)
{
	struct wh_outcome o;

	memcpy(real, m->real, sizeof(m->real));
	o = wh_record_run(step, real);
	if (!wh_good(o))
		end_real(&m->log, real);
	discard(m);
	return makes_room(after, o) ? wh_log_run(after, real) : o;
}

struct wh_outcome wh_made_extend(const struct wh_log *before, const struct wh_record *step,
				 const struct wh_log *after, struct wh_made **made)
{
	const uint64_t hash = wh_log_hash(after);
	uint64_t real[WH_MADE_PLACES] = { 0 };
	struct wh_made *m;
	struct wh_outcome o;

	m = before->size ? take_away(before) : NULL;
	o = m ? extend(m, step, after, real) : build(after, real);
	if (!wh_good(o))
		return o;
	learn(hash);
	return add(after, hash, real, made);
}
