// SPDX-License-Identifier: Apache-2.0
/*
 * Remembers facts about backend descriptors: the answers about each finalized one, which does
 * not change any more, with the descriptors that the library has filled; and the status by
 * which the library refused to finalize a descriptor that was made alike. Owns both.
 */
#include "recall.h"

#include <stdlib.h>

/* The most answers that are kept about one descriptor, and the most bytes of one. */
#define MEMOS		64
#define MEMO_BYTES	4096
#define FAILURES	2048u

struct memo {
	struct memo *next;
	struct wh_question q;
	int64_t count;
	uint64_t came;
	uint64_t bytes[];	/* the elements that came; descriptors by the worker's numbers */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Found by a hash of all that was done; two with one place displace each other; 0: none. */
static struct failure {
	uint64_t key;
	cudnnStatus_t res;
} failures[FAILURES];

WH_IN_CHILD(pthread_mutex_init(&lock, NULL); memset(failures, 0, sizeof(failures)))

/* --- Refusals of the library ------------------------------------------------------- */

static struct failure *place_of(uint64_t hash)
{
	return &failures[hash % FAILURES];
}

cudnnStatus_t wh_failure_recall(uint64_t hash)
{
	const struct failure *f = place_of(hash);
	cudnnStatus_t res;

	pthread_mutex_lock(&lock);
	res = f->key == hash ? f->res : CUDNN_STATUS_SUCCESS;
	pthread_mutex_unlock(&lock);
	return res;
}

void wh_failure_keep(uint64_t hash, cudnnStatus_t res)
{
	const int kind = res / 1000 * 1000;

	if (kind != CUDNN_STATUS_BAD_PARAM && kind != CUDNN_STATUS_NOT_SUPPORTED)
		return;
	pthread_mutex_lock(&lock);
	*place_of(hash) = (struct failure) { .key = hash, .res = res };
	pthread_mutex_unlock(&lock);
}

/* --- Answers ----------------------------------------------------------------------- */

static const struct memo *find_memo(const struct wh_made *m, const struct wh_question *q)
{
	const struct memo *a;

	for (a = m->notes; a; a = a->next)
		if (a->q.name == q->name && a->q.type == q->type && a->q.n == q->n &&
		    a->q.elements == q->elements)
			break;
	return a;
}

/* Calls `act` for each descriptor that an answer has. */
static void for_descriptors(const struct memo *a, void (*act)(struct wh_made *m))
{
	uint64_t i;

	for (i = 0; i < a->came && a->q.type == CUDNN_TYPE_BACKEND_DESCRIPTOR; i++)
		act((struct wh_made *)a->bytes[i]);
}

int64_t wh_memo_recall(const struct wh_made *m, const struct wh_question *q, uint64_t *came,
		       void *out)
{
	const size_t size = wh_cudnn_attribute_size((cudnnBackendAttributeType_t)q->type);
	const struct memo *a;
	int64_t count = -1;

	pthread_mutex_lock(&lock);
	a = find_memo(m, q);
	if (a) {
		count = a->count;
		*came = a->came;
		if (a->came)
			memcpy(out, a->bytes, a->came * size);
		for_descriptors(a, wh_made_hold);
	}
	pthread_mutex_unlock(&lock);
	return count;
}

static bool has_room(const struct wh_made *m)
{
	const struct memo *a;
	uint32_t n = 0;

	for (a = m->notes; a; a = a->next)
		n++;
	return n < MEMOS;
}

/* Answers that are the program's own pointers may not be kept. */
static bool may_keep(const struct wh_question *q, int64_t count, size_t bytes)
{
	return count >= 0 && bytes <= MEMO_BYTES && q->type != CUDNN_TYPE_HANDLE &&
	       q->type != CUDNN_TYPE_VOID_PTR;
}

void wh_memo_keep(struct wh_made *m, const struct wh_question *q, int64_t count, uint64_t came,
		  const void *elements)
{
	const size_t size = wh_cudnn_attribute_size((cudnnBackendAttributeType_t)q->type);
	struct memo *a;

	if (!may_keep(q, count, came * size))
		return;
	a = malloc(sizeof(*a) + came * size);
	if (!a)
		return;
	*a = (struct memo) { .q = *q, .count = count, .came = came };
	if (came)
		memcpy(a->bytes, elements, came * size);
	pthread_mutex_lock(&lock);
	if (has_room(m) && !find_memo(m, q)) {
		for_descriptors(a, wh_made_hold);
		a->next = m->notes;
		m->notes = a;
		a = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(a);
}

void wh_memos_end(struct wh_made *m)
{
	struct memo *a;

	while ((a = m->notes)) {
		m->notes = a->next;
		for_descriptors(a, wh_made_leave);
		free(a);
	}
}
