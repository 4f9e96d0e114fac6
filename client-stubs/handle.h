/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handles that a library over the driver gives to the program. A handle is memory that is
 * never freed, so that a destroyed handle is seen as such. Its memory is reused for the next
 * handle that is made.
 */
#ifndef WORMHOLE_HANDLE_H
#define WORMHOLE_HANDLE_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Each handle begins with this. */
struct wh_handle {
	uint64_t alive;		/* the library's own word if alive; WH_HANDLE_TAKEN; 0: unused */
	struct wh_handle *next;	/* links all that were ever made */
};
#define WH_HANDLE_TAKEN	1

struct wh_handles {
	pthread_mutex_t lock;
	struct wh_handle *all;
	size_t size;		/* of one handle, in bytes */
};
#define WH_HANDLES(type)	{ .lock = PTHREAD_MUTEX_INITIALIZER, .size = sizeof(type) }

/*
 * Returns a handle that is zeroed behind its beginning, and not alive until the library says
 * so. NULL: no memory.
 */
static inline void *wh_handle_take(struct wh_handles *l)
{
	struct wh_handle *h;

	pthread_mutex_lock(&l->lock);
	for (h = l->all; h && h->alive; h = h->next)
		;
	if (!h) {
		h = calloc(1, l->size);
		if (h) {
			h->next = l->all;
			l->all = h;
		}
	}
	if (h) {
		memset(h + 1, 0, l->size - sizeof(*h));
		h->alive = WH_HANDLE_TAKEN;
	}
	pthread_mutex_unlock(&l->lock);
	return h;
}

static inline void wh_handle_put(struct wh_handles *l, struct wh_handle *h)
{
	pthread_mutex_lock(&l->lock);
	h->alive = 0;
	pthread_mutex_unlock(&l->lock);
}

#endif
