// SPDX-License-Identifier: Apache-2.0
/* Names of objects that a client has of a library; see names.h. Owns nothing. */
#include "names.h"

#include <stdlib.h>

struct wh_name *wh_name_find(const struct wh_names *names, const void *name)
{
	uint64_t id = (uintptr_t)name;
	struct wh_name *n;

	if ((id & WH_NAME_TAGS) != names->tag || (uint32_t)id >= names->most)
		return NULL;
	n = __atomic_load_n(&names->all[(uint32_t)id], __ATOMIC_ACQUIRE);
	return n && __atomic_load_n(&n->id, __ATOMIC_ACQUIRE) == id ? n : NULL;
}

static struct wh_name *more(struct wh_names *names)
{
	struct wh_name *n = names->made < names->most ? calloc(1, names->size) : NULL;

	if (n) {
		n->index = names->made++;
		__atomic_store_n(&names->all[n->index], n, __ATOMIC_RELEASE);
	}
	return n;
}

struct wh_name *wh_name_take(struct wh_names *names)
{
	struct wh_name *n;

	pthread_mutex_lock(&names->lock);
	n = names->unused;
	if (n)
		names->unused = n->next;
	else
		n = more(names);
	pthread_mutex_unlock(&names->lock);
	return n;
}

void wh_name_show(const struct wh_names *names, struct wh_name *n)
{
	uint64_t id = names->tag | (uint64_t)(++n->generation & 0xffffff) << 32 | n->index;

	__atomic_store_n(&n->id, id, __ATOMIC_RELEASE);
}

void wh_name_hide(struct wh_name *n)
{
	__atomic_store_n(&n->id, 0, __ATOMIC_RELEASE);
}

void wh_name_give(struct wh_names *names, struct wh_name *n)
{
	pthread_mutex_lock(&names->lock);
	n->next = names->unused;
	names->unused = n;
	pthread_mutex_unlock(&names->lock);
}

void wh_names_forget(struct wh_names *names)
{
	uint32_t i;

	pthread_mutex_init(&names->lock, NULL);
	names->unused = NULL;
	for (i = 0; i < names->made; i++) {
		if (!names->all[i])
			continue;
		names->all[i]->id = 0;
		names->all[i]->next = names->unused;
		names->unused = names->all[i];
	}
}
