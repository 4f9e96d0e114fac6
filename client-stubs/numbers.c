// SPDX-License-Identifier: Apache-2.0
/* Numbers of objects, in chains by the object's name. */
#include "numbers.h"

#include "library.h"

#include <pthread.h>
#include <stdlib.h>

#define CHAINS	256

struct number {
	struct number *next;
	uint64_t id;
	uint32_t number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
WH_IN_CHILD(pthread_mutex_init(&lock, NULL))
static struct number *chain[CHAINS];

static struct number **place(const void *object)
{
	uint64_t id = (uintptr_t)object;
	struct number **p = &chain[(id ^ id >> 8) % CHAINS];

	while (*p && (*p)->id != id)
		p = &(*p)->next;
	return p;
}

bool wh_number_keep(const void *object, uint32_t number)
{
	struct number **p;
	bool done;

	pthread_mutex_lock(&lock);
	p = place(object);
	if (!*p && (*p = calloc(1, sizeof(**p))))
		(*p)->id = (uintptr_t)object;
	done = *p;
	if (done)
		(*p)->number = number;
	pthread_mutex_unlock(&lock);
	return done;
}

uint32_t wh_number_of(const void *object)
{
	struct number *found;
	uint32_t number;

	pthread_mutex_lock(&lock);
	found = *place(object);
	number = found ? found->number : 0;
	pthread_mutex_unlock(&lock);
	return number;
}

void wh_number_forget(const void *object)
{
	struct number **p, *old;

	pthread_mutex_lock(&lock);
	p = place(object);
	old = *p;
	if (old)
		*p = old->next;
	pthread_mutex_unlock(&lock);
	free(old);
}
