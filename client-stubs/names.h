/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the objects that a client has of a library, i.e. what a program holds
 * for a descriptor. Objects are memory that is never given back, so that one that was
 * destroyed is seen as such, and a place that serves again has another name.
 */
#ifndef WORMHOLE_NAMES_H
#define WORMHOLE_NAMES_H

#include <pthread.h>
#include <stdint.h>

/* The first member of each object. */
struct wh_name {
	uint64_t id;		/* the program's name for it; 0: unused */
	struct wh_name *next;	/* unused */
	uint32_t index;
	uint32_t generation;
};

/* Objects of one kind. Others' names differ from theirs in TAGS. */
struct wh_names {
	struct wh_name **all;	/* of `most` */
	uint32_t most;		/* alive at a time */
	uint32_t made;
	size_t size;		/* of an object */
	uint64_t tag;
	struct wh_name *unused;
	pthread_mutex_t lock;	/* of all that changes */
};
#define WH_NAME_TAGS	0xff00000000000000ULL

struct wh_name *wh_name_find(const struct wh_names *names, const void *name);
/* Nobody finds it before it is shown. NULL: there are too many. */
struct wh_name *wh_name_take(struct wh_names *names);
void wh_name_show(const struct wh_names *names, struct wh_name *n);
/* Nobody finds it any more, and it may be taken again once it is given. */
void wh_name_hide(struct wh_name *n);
void wh_name_give(struct wh_names *names, struct wh_name *n);
/* In a child: as all that the parent's worker has, what they stand for is not its. */
void wh_names_forget(struct wh_names *names);

#endif
