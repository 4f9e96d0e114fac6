/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the client's libcusparseLt.so.0. */
#ifndef WORMHOLE_CUSPARSELT_STUB_H
#define WORMHOLE_CUSPARSELT_STUB_H

#include "gen_cusparselt_client.h"

#include "../memo.h"
#include "../opaque.h"

/* --- Steps: what a program does to its structs ------------------------------------------ */

enum wh_slt_op {
	WH_SLT_DENSE,		/* makes a matrix's description, as the next one */
	WH_SLT_STRUCTURED,
	WH_SLT_MATMUL,
	WH_SLT_ALG,
	WH_SLT_PLAN,
	WH_SLT_SET		/* an attribute, of whatever it is a step of */
};

#define WH_SLT_PARENTS	4
#define WH_SLT_VALUE	8	/* bytes of the longest attribute */

/* No padding: steps are compared as bytes. */
struct wh_slt_step {
	uint64_t when;		/* of all steps of the process; in a log, whose: a place in it */
	uint64_t handle;	/* the worker's */
	uint8_t op;
	uint8_t resv[3];
	uint8_t parent[WH_SLT_PARENTS];	/* in a log: what it is made from; places */
	int32_t attribute;
	uint32_t size;		/* of the value */
	union {
		struct {
			int64_t rows, cols, ld;
			uint32_t alignment;
			int32_t type, order, sparsity;
		} mat;
		struct {
			int32_t op_a, op_b, compute;
		} matmul;
		int32_t alg;
		uint8_t value[WH_SLT_VALUE];
	};
};
_Static_assert(sizeof(struct wh_slt_step) == 72, "no padding");

/* --- Objects (object.c): what the program's structs stand for ---------------------------- */

struct wh_slt_chain;
struct wh_slt_object;

/* One that was made from another. */
struct wh_slt_link {
	struct wh_slt_object *of, *by;
	struct wh_slt_link *next, **at;	/* in the list of `of` */
};

struct wh_slt_object {
	uint64_t name;		/* 0: it has ended, for the program */
	uint64_t type;		/* WH_H_* */
	uint64_t real;		/* its own in the worker; 0: it is described, and no more */
	uint64_t born;
	struct wh_slt_chain *chain;	/* a plan's, as long as nothing of it was changed */
	bool ended;		/* by the program, in the worker, too */
	const void *home;	/* where the program's struct was when it was made */
	struct wh_slt_object *first;	/* a struct at home is a copy of this one's, and says so */
	struct wh_slt_object *copies, *next_copy;
	uint64_t as_of;		/* so many steps the copy has of it */
	uint32_t refs;		/* its name, those made from it, and who is at work on it */
	uint32_t parents;
	struct wh_slt_link parent[WH_SLT_PARENTS];
	struct wh_slt_link *children;
	struct wh_slt_step *steps;
	uint32_t count, room;
	uint64_t dropped;	/* steps that were there before these */
	uint64_t known_since;	/* so many steps: before that, some are missing */
};

#define WH_SLT_OBJECTS	12
#define WH_SLT_STEPS	96

/* Objects with all that they were made from, in the order in which they were made. */
struct wh_slt_set {
	struct wh_slt_object *object[WH_SLT_OBJECTS];
	uint32_t n;
	bool owned;		/* one of them is the worker's own */
};

/* What was done to them, in its order. Two of the same bytes lead to the same in the library. */
struct wh_slt_log {
	uint32_t objects, n;
	struct wh_slt_step step[WH_SLT_STEPS];
};

extern pthread_mutex_t wh_slt_lock;	/* of all that is below */

/* The program's struct; NULL: it is none of this type. Held for the caller. */
struct wh_slt_object *wh_slt_take(const void *p, uint64_t type);
/* The same, however old a copy it is. */
struct wh_slt_object *wh_slt_take_any(const void *p, uint64_t type);
/* The same to be changed: a copy of a struct becomes an object of its own. */
struct wh_slt_object *wh_slt_take_own(void *p, uint64_t type);
/* A new one, held, without a name; NULL: no memory. */
struct wh_slt_object *wh_slt_new(uint64_t type, struct wh_slt_object *const *parents, uint32_t n,
				 const struct wh_slt_step *step);
/* The program's struct stands for it from now on; false: no memory. */
bool wh_slt_give_name(struct wh_slt_object *o, void *p);
/* For the program it has ended, and so have those that follow it. */
void wh_slt_end(struct wh_slt_object *o);
void wh_slt_release(struct wh_slt_object *o);
bool wh_slt_add(struct wh_slt_object *o, const struct wh_slt_step *step);
/* The last step was none. */
void wh_slt_take_back(struct wh_slt_object *o);
/* The program's struct, once it was changed. */
void wh_slt_write(const struct wh_slt_object *o, void *p);
/* False: more of them than a set has room for. */
bool wh_slt_closure(struct wh_slt_object *o, struct wh_slt_set *set);
/* Of those that are not the worker's own; false: too long. */
bool wh_slt_log(const struct wh_slt_set *set, struct wh_slt_log *log);
uint64_t wh_slt_now(void);

static inline size_t wh_slt_bytes(const struct wh_slt_log *log)
{
	return log->n * sizeof(log->step[0]);
}

/* --- Chains (chain.c): structs of the worker's, by what was done to make them ------------- */

struct wh_slt_chain {
	struct wh_slt_chain *next, **at;	/* of the same place */
	struct wh_slt_chain *older, *newer;
	uint64_t hash;
	uint32_t users;
	struct wh_slt_log *log;
	uint64_t real[WH_SLT_OBJECTS];
};

uint64_t wh_slt_hash(const struct wh_slt_log *log);
/* One for this log, which the caller uses until he leaves it. */
cusparseStatus_t wh_slt_use(const struct wh_slt_log *log, struct wh_slt_chain **chain);
void wh_slt_leave(struct wh_slt_chain *chain);
/*
 * The library's word on one more step, of the object of that place, behind `before`. Not
 * `sure`: the same may have been taken before, and now be refused.
 */
cusparseStatus_t wh_slt_extend(const struct wh_slt_log *before, const struct wh_slt_step *step,
			       bool sure, const struct wh_slt_log *after);
/* The same steps, for `real` of structs that are there; new ones are added. */
cusparseStatus_t wh_slt_run(const struct wh_slt_step *step, uint64_t *real);
cusparseStatus_t wh_slt_destroy(uint64_t type, uint64_t real);
/* All that were made with a handle end before it does. */
void wh_slt_forget(uint64_t handle);

/* --- For calls (describe.c) ----------------------------------------------------------------- */

/* A struct in the worker that is as the program's, until wh_slt_done(). */
struct wh_slt_use {
	struct wh_slt_chain *chain;
	struct wh_slt_object *object;
	uint64_t handle, real;
};

cusparseStatus_t wh_slt_begin(const cusparseLtHandle_t *handle, const void *p, uint64_t type,
			      struct wh_slt_use *use);
/* The same, for a call that changes it: nobody else's. */
cusparseStatus_t wh_slt_begin_own(const cusparseLtHandle_t *handle, const void *p, uint64_t type,
				  struct wh_slt_use *use);
void wh_slt_done(struct wh_slt_use *use);

/* A struct for generated calls, which read no more of it than this. */
static inline const void *wh_slt_as(struct wh_opaque *o, uint64_t type, uint64_t real)
{
	wh_opaque_make(o, type, real);
	return o;
}

#endif
