// SPDX-License-Identifier: Apache-2.0
/*
 * Remembers the worker's answers by the questions (memo.h), so that an algorithm for the same
 * product is asked for once. Owns a table of a fixed number of answers, in which new ones push
 * out old ones of the same set. The table is the process's own; a fork's child starts with an
 * empty one.
 */
#include "memo.h"

#include <stdlib.h>

#include "library.h"

#define SETS	512u
#define WAYS	4u
#define LARGEST	65536u		/* the most bytes of one; longer ones are not remembered */

struct key {
	uint64_t hash;
	CUcontext ctx;
	uint32_t call, bytes;	/* bytes: of the question */
};

struct answer {
	struct key key;
	uint32_t turn;		/* when it was remembered */
	uint32_t size;
	uint8_t data[];		/* the question, and the answer */
};

static struct answer *table[SETS][WAYS];
static uint32_t turns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void forget(void)
{
	memset(table, 0, sizeof(table));
	pthread_mutex_init(&lock, NULL);
}
WH_IN_CHILD(forget())

static uint64_t hash_of(uint32_t call, CUcontext ctx, const void *question, size_t bytes)
{
	uint64_t h = call ^ (uintptr_t)ctx, w;
	size_t i;

	for (i = 0; i < bytes; i += sizeof(w)) {
		w = 0;
		memcpy(&w, (const uint8_t *)question + i,
		       bytes - i < sizeof(w) ? bytes - i : sizeof(w));
		h = (h ^ w) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h;
}

static struct key key_of(uint32_t call, const void *question, size_t bytes)
{
	struct key key = { .call = call, .bytes = bytes };

	cuCtxGetCurrent(&key.ctx);
	key.hash = hash_of(call, key.ctx, question, bytes);
	return key;
}

static bool is_about(const struct answer *a, const struct key *key, const void *question)
{
	return a && !memcmp(&a->key, key, sizeof(*key)) && !memcmp(a->data, question, key->bytes);
}

bool wh_recall(uint32_t call, const void *question, size_t bytes, void *answer, size_t *room)
{
	const struct key key = key_of(call, question, bytes);
	const struct answer *a;
	bool found = false;
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < WAYS && !found; i++) {
		a = table[key.hash % SETS][i];
		found = is_about(a, &key, question) && a->size <= *room;
		if (found) {
			memcpy(answer, a->data + bytes, a->size);
			*room = a->size;
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void wh_remember(uint32_t call, const void *question, size_t bytes, const void *answer,
		 size_t size)
{
	const struct key key = key_of(call, question, bytes);
	struct answer *a, **place, **oldest;
	unsigned int i;

	if (bytes > LARGEST || size > LARGEST)
		return;
	a = malloc(sizeof(*a) + bytes + size);
	if (!a)
		return;
	a->key = key;
	a->size = size;
	memcpy(a->data, question, bytes);
	memcpy(a->data + bytes, answer, size);

	pthread_mutex_lock(&lock);
	a->turn = ++turns;
	oldest = table[key.hash % SETS];
	for (i = 0; i < WAYS; i++) {
		place = &table[key.hash % SETS][i];
		/* Another thread may have asked the same meanwhile. */
		if (!*place || is_about(*place, &key, question)) {
			oldest = place;
			break;
		}
		if (turns - (*place)->turn > turns - (*oldest)->turn)
			oldest = place;
	}
	free(*oldest);
	*oldest = a;
	pthread_mutex_unlock(&lock);
}
