/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that the program's descriptors stand for (kept_object.c), for kept.c and for
 * cuDNN.
 */
#ifndef WORMHOLE_KEPT_OBJECT_H
#define WORMHOLE_KEPT_OBJECT_H

#include "kept.h"
#include "names.h"

struct wh_kept;

/* Says that `by` was made of `of`. */
struct wh_kept_link {
	struct wh_kept *of, *by;
	struct wh_kept_link *next, **at;	/* in the list of `of` */
};

struct wh_kept {
	struct wh_name name;
	const struct wh_kept_kind *kind;
	uint64_t real;			/* the worker's descriptor, for calls; 0: not known yet */
	bool own;			/* `real` belongs to this object alone */
	bool ended;			/* by the program, in the worker, too */
	bool final;			/* nothing is set of it any more */
	/* Held by its name, by what was made of it, by who works on it. */
	uint32_t refs;
	struct wh_log log;		/* what was done to this object alone */
	uint32_t steps;			/* records in it */
	bool altered;			/* by another call, since it was last set */
	/* The library's own note, valid until the object changes; or 0. */
	uint32_t note;
	/* Held; a descriptor of the worker that is like this object. */
	struct wh_made *made;
	/* The following is for objects whose name is in a struct of the program. */
	uint64_t born;
	const void *home;		/* where the struct was when it was made */
	struct wh_kept *first;		/* the object whose copy the struct at `home` is */
	struct wh_kept *copies, *next_copy;
	uint32_t as_of;			/* how many steps of `first` the copy has */
	uint32_t parents;
	struct wh_kept_link parent[WH_KEPT_PARENTS];
	struct wh_kept_link *children;
};

/* Objects with all that they were made of, in the order in which they were made. */
struct wh_kept_set {
	struct wh_kept *object[WH_MADE_PLACES];
	uint32_t n;
	bool owned;		/* one of them has a descriptor of its own in the worker */
};

uint64_t wh_kept_now(void);
/* Returns the program's object, however old the copy of its struct is. NULL: there is none. */
struct wh_kept *wh_kept_find(uint64_t name);
struct wh_kept *wh_kept_find_kind(const struct wh_kept_kind *kind, uint64_t name);
/*
 * Returns the object of the program's struct, held. A copy of a struct becomes an object of its
 * own.
 */
struct wh_kept *wh_kept_take(const struct wh_kept_kind *kind, const void *p);
/* The same for an object that is to be set: a copy also gets a name. */
struct wh_kept *wh_kept_take_own(const struct wh_kept_kind *kind, void *p);

/* Returns a new object, held and without a name. NULL: there are too many. */
struct wh_kept *wh_kept_new(const struct wh_kept_kind *kind, struct wh_kept *const *parents,
			    uint32_t n);
/* Gives it a name, which takes over the caller's hold. */
void wh_kept_show(struct wh_kept *k, void *out);
/* Writes the program's struct after the object was set. */
void wh_kept_write(const struct wh_kept *k, void *p);
/* Notes that the program has ended it, and with it those that follow it. */
void wh_kept_finish(struct wh_kept *k);
void wh_kept_release(struct wh_kept *k);
/* Gives back the worker's descriptor that was like it, also of all that was made of it. */
void wh_kept_let_go(struct wh_kept *k);

/* Has a later record of the same log made this one void? */
bool wh_kept_is_void(const struct wh_log *l, const struct wh_record *r);
/* Adds `k` and what it was made of. False: a set has no room for all. */
bool wh_kept_closure(struct wh_kept *k, struct wh_kept_set *set);
/*
 * Collects what was done, in its order, to the objects without a descriptor of their own in the
 * worker. False: no memory.
 */
bool wh_kept_log(const struct wh_kept_set *set, struct wh_log *log);

/*
 * kept.c: the library judges one more step. If it accepts, the object holds what the record
 * refers to.
 */
struct wh_outcome wh_kept_step(struct wh_kept *k, const struct wh_record *step);
/* Notes a step that the library has refused. False: no memory. */
bool wh_kept_note_refused(struct wh_kept *k, const struct wh_record *step);
/*
 * Gives it, and what it was made of, a descriptor of its own in the worker. If that fails,
 * nothing is left of it there.
 */
struct wh_outcome wh_kept_make_own(struct wh_kept *k);

#endif
