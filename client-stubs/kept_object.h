/* SPDX-License-Identifier: Apache-2.0 */
/* What the program's descriptors stand for (kept_object.c), for kept.c and for cuDNN. */
#ifndef WORMHOLE_KEPT_OBJECT_H
#define WORMHOLE_KEPT_OBJECT_H

#include "kept.h"
#include "names.h"

struct wh_kept;

/* One that was made of another. */
struct wh_kept_link {
	struct wh_kept *of, *by;
	struct wh_kept_link *next, **at;	/* in the list of `of` */
};

struct wh_kept {
	struct wh_name name;
	const struct wh_kept_kind *kind;
	uint64_t real;			/* for calls; 0: not known yet */
	bool own;			/* it is this one's alone */
	bool ended;			/* by the program, in the worker, too */
	bool final;			/* nothing is set of it any more */
	uint32_t refs;			/* its name, what was made of it, who is at work on it */
	struct wh_log log;		/* what was done to it alone */
	uint32_t steps;			/* records in it */
	bool altered;			/* by another call, since it was last set */
	uint32_t note;			/* of the library's file, while it is as it is; or 0 */
	struct wh_made *made;		/* held; one of the worker's that is as this one is */
	/* Of one whose name is in a struct of the program's. */
	uint64_t born;
	const void *home;		/* where that was when it was made */
	struct wh_kept *first;		/* a struct at home is a copy of this one's, and says so */
	struct wh_kept *copies, *next_copy;
	uint32_t as_of;			/* so many steps the copy has of it */
	uint32_t parents;
	struct wh_kept_link parent[WH_KEPT_PARENTS];
	struct wh_kept_link *children;
};

/* Some with all that they were made of, in the order in which they were made. */
struct wh_kept_set {
	struct wh_kept *object[WH_MADE_PLACES];
	uint32_t n;
	bool owned;		/* one of them is the worker's own */
};

uint64_t wh_kept_now(void);
/* What the program has, however old a copy of its struct; NULL: it is none. */
struct wh_kept *wh_kept_find(uint64_t name);
struct wh_kept *wh_kept_find_kind(const struct wh_kept_kind *kind, uint64_t name);
/* The program's struct. Held; a copy of which something is made is one of its own. */
struct wh_kept *wh_kept_take(const struct wh_kept_kind *kind, const void *p);
/* The same to be set: the copy gets a name. */
struct wh_kept *wh_kept_take_own(const struct wh_kept_kind *kind, void *p);

/* Held, without a name; NULL: there are too many. */
struct wh_kept *wh_kept_new(const struct wh_kept_kind *kind, struct wh_kept *const *parents,
			    uint32_t n);
/* It has a name from now on, which holds it in the caller's place. */
void wh_kept_show(struct wh_kept *k, void *out);
/* The program's struct, once it was set. */
void wh_kept_write(const struct wh_kept *k, void *p);
/* For the program it has ended, and so have those that follow it. */
void wh_kept_finish(struct wh_kept *k);
void wh_kept_release(struct wh_kept *k);
/* The worker's that was as it was; what was made of it, too. */
void wh_kept_let_go(struct wh_kept *k);

/* Is the record void by a later one of the same log? */
bool wh_kept_is_void(const struct wh_log *l, const struct wh_record *r);
/* False: more of them than a set has room for. */
bool wh_kept_closure(struct wh_kept *k, struct wh_kept_set *set);
/* What was done to those that are not the worker's own, in its order; false: no memory. */
bool wh_kept_log(const struct wh_kept_set *set, struct wh_log *log);

/* kept.c: the library's word on one more step; what its record refers to is held by it then. */
struct wh_outcome wh_kept_step(struct wh_kept *k, const struct wh_record *step);
/* One that the library has refused; false: no memory. */
bool wh_kept_note_refused(struct wh_kept *k, const struct wh_record *step);
/* It, and what it was made of; nothing of it, if that fails. */
struct wh_outcome wh_kept_make_own(struct wh_kept *k);

#endif
