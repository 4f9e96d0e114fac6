// SPDX-License-Identifier: Apache-2.0
/*
 * An open-addressing table from pointers to pointers: it finds the registrations of host
 * functions and variables. Readers take no lock: of a slot the value is published first, and an
 * outgrown table stays readable. Writers hold the lock of module.c.
 */
#include <stdlib.h>

#include "cudart.h"

struct slot {
	_Atomic(const void *) key;	/* NULL: never used */
	_Atomic(void *) value;		/* NULL: removed */
};

struct table {
	struct table *outgrown;		/* a reader that loaded it earlier may still use it */
	size_t mask;
	size_t used;			/* slots with a key, removed ones included */
	struct slot slots[];
};

static _Atomic(struct table *) current;

static size_t hash(const void *key)
{
	return (size_t)(((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15ull >> 20);
}

static struct slot *probe(struct table *t, const void *key)
{
	size_t i = hash(key);
	const void *k;

	for (;; i++) {
		struct slot *s = &t->slots[i & t->mask];

		k = atomic_load_explicit(&s->key, memory_order_acquire);
		if (!k || k == key)
			return s;
	}
}

void *rt_map_find(const void *key)
{
	struct table *t = atomic_load_explicit(&current, memory_order_acquire);

	if (!t || !key)
		return NULL;
	return atomic_load_explicit(&probe(t, key)->value, memory_order_acquire);
}

static void put(struct table *t, const void *key, void *value)
{
	struct slot *s = probe(t, key);

	if (!s->key)
		t->used++;
	atomic_store_explicit(&s->value, value, memory_order_release);
	atomic_store_explicit(&s->key, key, memory_order_release);
}

/* Returns a table of twice the size, with room for one more. NULL: no memory. */
static struct table *grow(struct table *old)
{
	size_t i, size = old ? 2 * (old->mask + 1) : 64;
	struct table *t = calloc(1, sizeof(*t) + size * sizeof(struct slot));

	if (!t)
		return NULL;
	t->mask = size - 1;
	t->outgrown = old;
	for (i = 0; old && i <= old->mask; i++)
		if (old->slots[i].value)
			put(t, old->slots[i].key, old->slots[i].value);
	atomic_store_explicit(&current, t, memory_order_release);
	return t;
}

/* Adds a registration. The first one of a key stays. False: no memory. */
bool rt_map_add(const void *key, void *value)
{
	struct table *t = current;

	if (!t || 2 * (t->used + 1) > t->mask + 1)
		t = grow(t);
	if (!t)
		return false;
	if (!probe(t, key)->value)
		put(t, key, value);
	return true;
}

void rt_map_remove(const void *key, const void *value)
{
	struct slot *s;

	if (!current)
		return;
	s = probe(current, key);
	if (s->value == value)
		atomic_store_explicit(&s->value, NULL, memory_order_release);
}
