// SPDX-License-Identifier: Apache-2.0
/*
 * Finalized backend descriptors do not change any more, so one of the worker's serves all
 * that are made alike: of the same type and by the same attributes in the same order, in
 * the same context. Owns these contents, what was asked about each, and the knowledge of
 * what the library takes: it has taken the same steps before, or refused to finalize them. A
 * content that nobody refers to stays for a while. What it was made of stays as long as it
 * does, so nothing in the worker refers to what is gone. A content that was made in a way that
 * cannot be compared is not listed: it serves its one descriptor, and ends with it.
 */
#include "content.h"

#include <stdlib.h>

#include "../steps.h"

#define BUCKETS		4096
/* Contents that nobody refers to; a plan, which has code on the device, is as much as several. */
#define IDLE_MOST	1024
#define PLAN_WEIGHT	16
/* Answers kept about one content, and how long one may be. */
#define MEMOS		64
#define MEMO_BYTES	4096

struct wh_memo {
	struct wh_memo *next;
	struct wh_question q;
	int64_t count;
	uint64_t came;
	uint64_t bytes[];	/* of the elements that came; of descriptors, their contents */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wh_content *bucket[BUCKETS];
static struct wh_content *oldest, *newest;	/* of the idle ones */
static uint32_t idle;				/* the weight of them all */

/* --- What the library takes -------------------------------------------------------- */

bool wh_steps_known(uint64_t hash)
{
	return wh_step_known(hash);
}

void wh_steps_learn(uint64_t hash)
{
	wh_step_learn(hash);
}

/* --- What it refuses --------------------------------------------------------------- */

#define FAILURES	2048u

/* By content and context, two of one place displace each other; 0: none. */
static struct failure {
	uint64_t key;
	cudnnStatus_t res;
} failures[FAILURES];

static uint64_t failure_key(const struct wh_content *like)
{
	return wh_cudnn_mix(wh_cudnn_mix(like->hash, like->ctx), like->records.size) | 1;
}

cudnnStatus_t wh_failure_recall(const struct wh_content *like)
{
	const uint64_t key = failure_key(like);
	const struct failure *f = &failures[key / 2 % FAILURES];
	cudnnStatus_t res;

	pthread_mutex_lock(&lock);
	res = f->key == key ? f->res : CUDNN_STATUS_SUCCESS;
	pthread_mutex_unlock(&lock);
	return res;
}

void wh_failure_keep(const struct wh_content *like, cudnnStatus_t res)
{
	const uint64_t key = failure_key(like);
	const int kind = res / 1000 * 1000;

	if (kind != CUDNN_STATUS_BAD_PARAM && kind != CUDNN_STATUS_NOT_SUPPORTED)
		return;
	pthread_mutex_lock(&lock);
	failures[key / 2 % FAILURES] = (struct failure) { .key = key, .res = res };
	pthread_mutex_unlock(&lock);
}

/* They are the parent's worker's. Their memory is not looked at: another thread had the lock. */
static void forget_all(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(bucket, 0, sizeof(bucket));
	wh_steps_forget();
	memset(failures, 0, sizeof(failures));
	oldest = newest = NULL;
	idle = 0;
}
WH_IN_CHILD(forget_all())

/* --- How they end ------------------------------------------------------------------ */

static uint32_t weight(const struct wh_content *c)
{
	return c->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ? PLAN_WEIGHT : 1;
}

/* Into the list of those that nobody refers to, or out of it. */
static void rest(struct wh_content *c)
{
	c->newer = NULL;
	c->older = newest;
	*(newest ? &newest->newer : &oldest) = c;
	newest = c;
	idle += weight(c);
}

static void wake(struct wh_content *c)
{
	*(c->older ? &c->older->newer : &oldest) = c->newer;
	*(c->newer ? &c->newer->older : &newest) = c->older;
	idle -= weight(c);
}

static void hold(struct wh_content *c)
{
	if (!c->refs++)
		wake(c);
}

static void unlist(struct wh_content *c)
{
	struct wh_content **at = &bucket[c->hash % BUCKETS];

	if (!c->listed)
		return;
	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	c->listed = false;
}

/* With the lock. What ends goes to *gone: it cannot be found again. */
static void release(struct wh_content *c, struct wh_content **gone)
{
	if (--c->refs)
		return;
	if (c->listed) {
		rest(c);
		return;
	}
	c->next = *gone;
	*gone = c;
}

/* What records and memos refer to. */
static void release_all(uint64_t *content, uint64_t n, struct wh_content **gone)
{
	while (n--)
		release((struct wh_content *)content[n], gone);
}

static void release_records(struct wh_records *l, struct wh_content **gone)
{
	struct wh_noted *r;

	for (r = wh_next_record(l, NULL); r; r = wh_next_record(l, r))
		if (r->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
			release_all((uint64_t *)(r + 1), r->count, gone);
	free(l->bytes);
	*l = (struct wh_records) { 0 };
}

static void release_memos(struct wh_content *c, struct wh_content **gone)
{
	struct wh_memo *m;

	while ((m = c->memo)) {
		c->memo = m->next;
		if (m->q.type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
			release_all(m->bytes, m->came, gone);
		free(m);
	}
}

/*
 * Of one that the program cannot name any more: no other call's status changes by it, and
 * each is as good as the last, so that it is posted.
 */
void wh_cudnn_end_real(uint64_t real)
{
	struct wh_req_cudnnBackendDestroyDescriptor *q;
	struct wh_call c;

	q = wh_cudnn_begin(&c, WH_CALL_cudnnBackendDestroyDescriptor, sizeof(*q));
	if (!q)
		return;
	q->descriptor = real;
	wh_cudnn_post(&c, sizeof(*q),
		      wh_word(struct wh_req_cudnnBackendDestroyDescriptor, descriptor));
	wh_end(&c);
}

/* Those that ended, and what only they referred to. */
static void end(struct wh_content *gone)
{
	struct wh_content *c;

	while ((c = gone)) {
		gone = c->next;
		pthread_mutex_lock(&lock);
		release_records(&c->records, &gone);
		release_memos(c, &gone);
		pthread_mutex_unlock(&lock);
		wh_cudnn_end_real(c->real);
		free(c);
	}
}

/* The oldest that nobody refers to, as long as there are more than so many. */
static struct wh_content *expire(uint32_t most)
{
	struct wh_content *c = NULL;

	pthread_mutex_lock(&lock);
	if (idle > most) {
		c = oldest;
		wake(c);
		unlist(c);
		c->next = NULL;
	}
	pthread_mutex_unlock(&lock);
	return c;
}

static void expire_all(uint32_t most)
{
	struct wh_content *c;

	while ((c = expire(most)))
		end(c);
}

void wh_cudnn_end_idle(void)
{
	expire_all(0);
}

void wh_content_hold(struct wh_content *c)
{
	pthread_mutex_lock(&lock);
	hold(c);
	pthread_mutex_unlock(&lock);
}

void wh_content_release(struct wh_content *c)
{
	struct wh_content *gone = NULL;

	pthread_mutex_lock(&lock);
	release(c, &gone);
	pthread_mutex_unlock(&lock);
	end(gone);
	expire_all(IDLE_MOST);
}

void wh_records_end(struct wh_records *l)
{
	struct wh_content *gone = NULL;

	pthread_mutex_lock(&lock);
	release_records(l, &gone);
	pthread_mutex_unlock(&lock);
	end(gone);
	expire_all(IDLE_MOST);
}

/* --- How they are found ------------------------------------------------------------ */

static struct wh_content *find(const struct wh_content *like)
{
	struct wh_content *c;

	for (c = bucket[like->hash % BUCKETS]; c; c = c->next)
		if (c->hash == like->hash && c->type == like->type && c->ctx == like->ctx &&
		    c->records.size == like->records.size &&
		    (!like->records.size ||
		     !memcmp(c->records.bytes, like->records.bytes, c->records.size)))
			break;
	if (c)
		hold(c);
	return c;
}

struct wh_content *wh_content_find(const struct wh_content *like)
{
	struct wh_content *c;

	pthread_mutex_lock(&lock);
	c = find(like);
	pthread_mutex_unlock(&lock);
	return c;
}

struct wh_content *wh_content_new(const struct wh_content *like)
{
	struct wh_content *c = malloc(sizeof(*c)), *other, **at;

	if (!c)
		return NULL;
	*c = *like;
	c->refs = 1;
	if (!c->listed)
		return c;
	pthread_mutex_lock(&lock);
	other = find(like);
	if (!other) {
		at = &bucket[c->hash % BUCKETS];
		c->next = *at;
		*at = c;
	}
	pthread_mutex_unlock(&lock);
	if (!other)
		return c;
	c->next = NULL;
	end(c);
	return other;
}

/* --- What was asked about them ----------------------------------------------------- */

static const struct wh_memo *find_memo(const struct wh_content *c, const struct wh_question *q)
{
	const struct wh_memo *m;

	for (m = c->memo; m; m = m->next)
		if (m->q.name == q->name && m->q.type == q->type && m->q.n == q->n &&
		    m->q.elements == q->elements)
			break;
	return m;
}

int64_t wh_memo_recall(const struct wh_content *c, const struct wh_question *q, uint64_t *came,
		       void *out)
{
	const size_t size = wh_cudnn_attribute_size((cudnnBackendAttributeType_t)q->type);
	const struct wh_memo *m;
	int64_t count = -1;
	uint64_t i;

	pthread_mutex_lock(&lock);
	m = find_memo(c, q);
	if (m) {
		count = m->count;
		*came = m->came;
		if (m->came)
			memcpy(out, m->bytes, m->came * size);
		for (i = 0; i < m->came && q->type == CUDNN_TYPE_BACKEND_DESCRIPTOR; i++)
			hold((struct wh_content *)m->bytes[i]);
	}
	pthread_mutex_unlock(&lock);
	return count;
}

/* Answers about what changes by itself, or that are the program's own pointers. */
static bool may_keep(const struct wh_content *c, const struct wh_question *q, int64_t count,
		     size_t bytes)
{
	return c->constant && count >= 0 && bytes <= MEMO_BYTES && q->type != CUDNN_TYPE_HANDLE &&
	       q->type != CUDNN_TYPE_VOID_PTR;
}

void wh_memo_keep(struct wh_content *c, const struct wh_question *q, int64_t count,
		  uint64_t came, const void *elements)
{
	const size_t size = wh_cudnn_attribute_size((cudnnBackendAttributeType_t)q->type);
	struct wh_memo *m;
	uint64_t i;

	if (!may_keep(c, q, count, came * size))
		return;
	m = malloc(sizeof(*m) + came * size);
	if (!m)
		return;
	*m = (struct wh_memo) { .q = *q, .count = count, .came = came };
	if (came)
		memcpy(m->bytes, elements, came * size);
	pthread_mutex_lock(&lock);
	if (c->memos < MEMOS && !find_memo(c, q)) {
		for (i = 0; i < came && q->type == CUDNN_TYPE_BACKEND_DESCRIPTOR; i++)
			hold((struct wh_content *)m->bytes[i]);
		m->next = c->memo;
		c->memo = m;
		c->memos++;
		m = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(m);
}
