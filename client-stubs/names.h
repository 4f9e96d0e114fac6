/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the objects that a client has of a library: a program holds such a name for a
 * descriptor. Objects are memory that is never freed, so that a destroyed one is seen as such.
 * Memory that is reused gets another name.
 */
#ifndef WORMHOLE_NAMES_H
#define WORMHOLE_NAMES_H

#include <pthread.h>
#include <stdint.h>

/* The first member of each object. */
struct wh_name {
	uint64_t id;		/* the program's name for it; 0: unused */
	struct wh_name *next;	/* in the list of unused ones */
	uint32_t index;
	uint32_t generation;
};

/* Objects of one kind. The names of different kinds differ in TAGS. */
struct wh_names {
	struct wh_name **all;	/* `most` entries */
	uint32_t most;		/* how many can be alive at a time */
	uint32_t made;
	size_t size;		/* bytes of an object */
	uint64_t tag;
	struct wh_name *unused;
	pthread_mutex_t lock;	/* protects all that changes */
};
#define WH_NAME_TAGS	0xff00000000000000ULL

struct wh_name *wh_name_find(const struct wh_names *names, const void *name);
/* Returns an object that nobody finds before it is shown. NULL: there are too many. */
struct wh_name *wh_name_take(struct wh_names *names);
void wh_name_show(const struct wh_names *names, struct wh_name *n);
/* Nobody finds a hidden object any more. It may be taken again once it is given back. */
void wh_name_hide(struct wh_name *n);
void wh_name_give(struct wh_names *names, struct wh_name *n);
/*
 * In a fork's child: the parent's objects stand for what the parent's worker has, so none is
 * the child's.
 */
void wh_names_forget(struct wh_names *names);

#endif
