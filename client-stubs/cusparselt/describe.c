// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that describe a product, and those that ask about what was described. A step that the
 * library has taken before, behind the same steps, makes no call (chain.c); nor does a question
 * that it has answered. A search changes what was described, in a way that no step says:
 * its plan, and all that the plan was made from, become the worker's own first, and from then on
 * each call to them is one to the worker.
 */
#include "cusparselt_stub.h"

#define NONE	CUSPARSE_STATUS_NOT_INITIALIZED
#define MEMORY	CUSPARSE_STATUS_ALLOC_FAILED
#define BAD	CUSPARSE_STATUS_INVALID_VALUE

/* By the context chains and answers are told apart; a process's first call makes it. */
static void lock(void)
{
	CUcontext ctx = NULL;

	if (cuCtxGetCurrent(&ctx) != CUDA_SUCCESS || !ctx)
		wh_library_prepare(&wh_cusparselt_library);
	pthread_mutex_lock(&wh_slt_lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&wh_slt_lock);
}

/* The worker's handle; 0: it is none. */
static uint64_t handle_of(const cusparseLtHandle_t *handle)
{
	struct wh_slt_object *o = wh_slt_take_any(handle, WH_H_cusparseLtHandle_t);
	uint64_t real = o ? o->real : 0;

	wh_slt_release(o);
	return real;
}

/* --- The worker's own -------------------------------------------------------------------- */

static void destroy_made(const struct wh_slt_set *set, const uint64_t *real)
{
	uint32_t i;

	for (i = set->n; i--;)
		if (!set->object[i]->real && real[i] &&
		    (set->object[i]->type == WH_H_cusparseLtMatmulPlan_t ||
		     set->object[i]->type == WH_H_cusparseLtMatDescriptor_t))
			wh_slt_destroy(set->object[i]->type, real[i]);
}

static cusparseStatus_t make_own(struct wh_slt_object *o);

/* What was made from it would not know what is done to it from now on, or that it has ended. */
static void own_children(const struct wh_slt_object *o)
{
	const struct wh_slt_link *l;

	/* One that cannot be made says so when it is used. */
	for (l = o->children; l; l = l->next)
		make_own(l->by);
}

/* It, and what it was made from; nothing of it, if that fails. */
static cusparseStatus_t make_own(struct wh_slt_object *o)
{
	struct wh_slt_set set = { 0 };
	struct wh_slt_log log;
	uint64_t real[WH_SLT_OBJECTS] = { 0 };
	cusparseStatus_t res = CUSPARSE_STATUS_SUCCESS;
	uint32_t i;

	if (o->real)
		return res;
	if (o->chain)
		wh_slt_leave(o->chain);
	o->chain = NULL;
	if (!wh_slt_closure(o, &set) || !wh_slt_log(&set, &log))
		return MEMORY;
	for (i = 0; i < set.n; i++)
		real[i] = set.object[i]->real;
	for (i = 0; i < log.n && res == CUSPARSE_STATUS_SUCCESS; i++)
		res = wh_slt_run(&log.step[i], real);
	if (res != CUSPARSE_STATUS_SUCCESS) {
		destroy_made(&set, real);
		return res;
	}
	for (i = 0; i < set.n; i++)
		set.object[i]->real = real[i];
	for (i = 0; i < set.n; i++)
		own_children(set.object[i]);
	return res;
}

/* --- Steps ------------------------------------------------------------------------------- */

/* May the object be made? */
static cusparseStatus_t judge_new(struct wh_slt_object *o)
{
	struct wh_slt_set set = { 0 };
	struct wh_slt_log before, after;
	cusparseStatus_t res;

	if (!wh_slt_closure(o, &set) || !wh_slt_log(&set, &after))
		return MEMORY;
	if (set.owned)
		return make_own(o);
	/* It is the last one of them that was born. */
	set.n--;
	wh_slt_log(&set, &before);
	res = wh_slt_extend(&before, &after.step[after.n - 1], true, &after);
	/* A plan has its own from now on: a product may come when nothing else is allowed. */
	if (res == CUSPARSE_STATUS_SUCCESS && o->type == WH_H_cusparseLtMatmulPlan_t)
		res = wh_slt_use(&after, &o->chain);
	return res;
}

static bool plan_of(const struct wh_slt_object *o)
{
	const struct wh_slt_link *l;

	for (l = o->children; l; l = l->next)
		if (l->by->type == WH_H_cusparseLtMatmulPlan_t || plan_of(l->by))
			return true;
	return false;
}

/* Was anything made from it that saw another value of the attribute? */
static bool was_seen(const struct wh_slt_object *o, int32_t attribute)
{
	const struct wh_slt_link *l;
	uint32_t i;

	for (l = o->children; l; l = l->next)
		for (i = 0; i < o->count; i++)
			if (o->steps[i].op == WH_SLT_SET && o->steps[i].attribute == attribute &&
			    o->steps[i].when < l->by->born)
				return true;
	return false;
}

/* An attribute's address: has the process memory there, which the worker need not be asked? */
static bool is_sure(const struct wh_slt_object *o, const struct wh_slt_step *step)
{
	uint64_t p;

	if (o->type != WH_H_cusparseLtMatmulDescriptor_t ||
	    wh_cusparselt_place((cusparseLtMatmulDescAttribute_t)step->attribute) < 0)
		return true;
	memcpy(&p, step->value, sizeof(p));
	return !p || wh_range_has(p) || wh_library_in_data((const void *)(uintptr_t)p, 1);
}

static cusparseStatus_t judge_set(struct wh_slt_object *o, const struct wh_slt_step *step)
{
	struct wh_slt_step alone = *step;
	struct wh_slt_set set = { 0 };
	struct wh_slt_log before, after;
	cusparseStatus_t res;

	if (!wh_slt_closure(o, &set))
		return MEMORY;
	/* What it is to those that were made from it before, no order of steps says. */
	if (set.owned || plan_of(o) || was_seen(o, step->attribute)) {
		alone.when = 0;
		res = make_own(o);
		return res == CUSPARSE_STATUS_SUCCESS ? wh_slt_run(&alone, &o->real) : res;
	}
	if (!wh_slt_log(&set, &before) || !wh_slt_add(o, step))
		return MEMORY;
	res = wh_slt_log(&set, &after) ?
	      wh_slt_extend(&before, &after.step[after.n - 1], is_sure(o, step), &after) : MEMORY;
	if (res != CUSPARSE_STATUS_SUCCESS)
		wh_slt_take_back(o);
	return res;
}

/* What a struct is made from. */
struct from {
	const void *p[WH_SLT_PARENTS];
	uint64_t type[WH_SLT_PARENTS];
	uint32_t n;
};

static cusparseStatus_t make_of(void *out, uint64_t type, struct wh_slt_object *const *parents,
				uint32_t n, const struct wh_slt_step *step)
{
	struct wh_slt_object *o = wh_slt_new(type, parents, n, step);
	cusparseStatus_t res;

	if (!o)
		return MEMORY;
	res = judge_new(o);
	if (res == CUSPARSE_STATUS_SUCCESS && !wh_slt_give_name(o, out))
		res = MEMORY;
	wh_slt_release(o);
	return res;
}

static cusparseStatus_t make_locked(const cusparseLtHandle_t *handle, void *out, uint64_t type,
				    struct wh_slt_step *step, const struct from *from)
{
	struct wh_slt_object *parents[WH_SLT_PARENTS] = { NULL };
	cusparseStatus_t res = CUSPARSE_STATUS_SUCCESS;
	uint32_t i;

	step->handle = handle_of(handle);
	if (!step->handle)
		return NONE;
	if (!out)
		return BAD;
	for (i = 0; i < from->n; i++) {
		parents[i] = wh_slt_take(from->p[i], from->type[i]);
		if (!parents[i])
			res = NONE;
	}
	/* Behind those of them that came to be just now. */
	step->when = wh_slt_now();
	if (res == CUSPARSE_STATUS_SUCCESS)
		res = make_of(out, type, parents, from->n, step);
	for (i = 0; i < from->n; i++)
		wh_slt_release(parents[i]);
	return res;
}

static cusparseStatus_t make(const cusparseLtHandle_t *handle, void *out, uint64_t type,
			     struct wh_slt_step step, struct from from)
{
	cusparseStatus_t res;

	lock();
	res = make_locked(handle, out, type, &step, &from);
	unlock();
	return res;
}

/* A value of no bytes, or of more than any attribute has, is the library's error as well. */
static bool is_value(const void *data, size_t size)
{
	return data && size && size <= WH_SLT_VALUE;
}

static cusparseStatus_t set(const cusparseLtHandle_t *handle, void *p, uint64_t type,
			    int32_t attribute, const void *data, size_t size)
{
	struct wh_slt_step step = { .op = WH_SLT_SET, .attribute = attribute };
	struct wh_slt_object *o = NULL;
	cusparseStatus_t res = NONE;

	lock();
	step.handle = handle_of(handle);
	if (step.handle)
		o = wh_slt_take_own(p, type);
	if (o && !is_value(data, size)) {
		res = BAD;
	} else if (o) {
		memcpy(step.value, data, size);
		step.size = size;
		step.when = wh_slt_now();
		res = judge_set(o, &step);
		if (res == CUSPARSE_STATUS_SUCCESS)
			wh_slt_write(o, p);
	}
	wh_slt_release(o);
	unlock();
	return res;
}

static cusparseStatus_t destroy(const void *p, uint64_t type)
{
	struct wh_slt_object *o;
	cusparseStatus_t res = NONE;

	lock();
	o = wh_slt_take_any(p, type);
	if (o)
		res = o->real ? wh_slt_destroy(type, o->real) : CUSPARSE_STATUS_SUCCESS;
	if (res == CUSPARSE_STATUS_SUCCESS)
		wh_slt_end(o);
	wh_slt_release(o);
	unlock();
	return res;
}

/* --- For other calls --------------------------------------------------------------------- */

static cusparseStatus_t find(struct wh_slt_use *use, bool own)
{
	struct wh_slt_set set = { 0 };
	struct wh_slt_log log;
	cusparseStatus_t res;

	if (!own && use->object->chain) {
		use->chain = use->object->chain;
		use->chain->users++;
		use->real = use->chain->real[use->chain->log->objects - 1];
		return CUSPARSE_STATUS_SUCCESS;
	}
	if (!wh_slt_closure(use->object, &set) || !wh_slt_log(&set, &log))
		return MEMORY;
	if (own || set.owned) {
		res = make_own(use->object);
		use->real = use->object->real;
		return res;
	}
	res = wh_slt_use(&log, &use->chain);
	if (res == CUSPARSE_STATUS_SUCCESS)
		use->real = use->chain->real[set.n - 1];
	return res;
}

static cusparseStatus_t begin(const cusparseLtHandle_t *handle, const void *p, uint64_t type,
			      struct wh_slt_use *use, bool own)
{
	cusparseStatus_t res = NONE;

	*use = (struct wh_slt_use) { 0 };
	lock();
	use->handle = handle_of(handle);
	if (use->handle)
		use->object = wh_slt_take(p, type);
	if (use->object)
		res = find(use, own);
	if (res != CUSPARSE_STATUS_SUCCESS)
		wh_slt_release(use->object);
	unlock();
	return res;
}

cusparseStatus_t wh_slt_begin(const cusparseLtHandle_t *handle, const void *p, uint64_t type,
			      struct wh_slt_use *use)
{
	return begin(handle, p, type, use, false);
}

cusparseStatus_t wh_slt_begin_own(const cusparseLtHandle_t *handle, const void *p, uint64_t type,
				  struct wh_slt_use *use)
{
	return begin(handle, p, type, use, true);
}

void wh_slt_done(struct wh_slt_use *use)
{
	pthread_mutex_lock(&wh_slt_lock);
	if (use->chain)
		wh_slt_leave(use->chain);
	wh_slt_release(use->object);
	unlock();
}

/* --- Questions --------------------------------------------------------------------------- */

struct question {
	int32_t attribute;
	uint32_t size;
	struct wh_slt_log about;
};

/* What asks the worker: about a struct of its own. */
typedef cusparseStatus_t asks(const struct wh_slt_use *use, const struct question *q, void *to);

/* False: it may have another answer the next time. */
static bool pose(const cusparseLtHandle_t *handle, const void *p, uint64_t type, struct question *q)
{
	struct wh_slt_set set = { 0 };
	struct wh_slt_object *o = NULL;
	bool lasts;

	lock();
	if (handle_of(handle))
		o = wh_slt_take(p, type);
	lasts = o && wh_slt_closure(o, &set) && !set.owned && wh_slt_log(&set, &q->about);
	wh_slt_release(o);
	unlock();
	return lasts;
}

static cusparseStatus_t ask(const cusparseLtHandle_t *handle, const void *p, uint64_t type,
			    uint32_t call, struct question *q, void *to, size_t size, asks *asks)
{
	const bool lasts = to && pose(handle, p, type, q);
	size_t bytes = offsetof(struct question, about.step) + wh_slt_bytes(&q->about), room = size;
	struct wh_slt_use use;
	cusparseStatus_t res;

	if (lasts && wh_recall(call, q, bytes, to, &room))
		return CUSPARSE_STATUS_SUCCESS;
	res = wh_slt_begin(handle, p, type, &use);
	if (res != CUSPARSE_STATUS_SUCCESS)
		return res;
	res = asks(&use, q, to);
	if (lasts && res == CUSPARSE_STATUS_SUCCESS)
		wh_remember(call, q, bytes, to, size);
	wh_slt_done(&use);
	return res;
}

static cusparseStatus_t get(const cusparseLtHandle_t *handle, const void *p, uint64_t type,
			    uint32_t call, int32_t attribute, void *data, size_t size, asks *asks)
{
	struct question q = { .attribute = attribute, .size = size };

	if (!is_value(data, size)) {
		/* Said behind what is wrong with the structs. */
		data = NULL;
		q.size = 0;
	}
	return ask(handle, p, type, call, &q, data, q.size, asks);
}

/* Structs of the worker's, for generated calls. */
#define AS(type, at, id)	((type *)(uintptr_t)wh_slt_as(&as[at], WH_H_##type, id))
#define WITH(use)		AS(cusparseLtHandle_t, 0, (use)->handle)
#define ITS(type, use)		AS(type, 1, (use)->real)
#define STRUCTS			_Alignas(16) struct wh_opaque as[2]

#define GETTER(name, function, type, Attribute)							\
static cusparseStatus_t name(const struct wh_slt_use *use, const struct question *q, void *to)	\
{												\
	STRUCTS;										\
												\
	return wh_raw_##function(WITH(use), ITS(type, use), (Attribute)q->attribute, to, q->size); \
}

GETTER(mat_attribute, cusparseLtMatDescGetAttribute, cusparseLtMatDescriptor_t,
       cusparseLtMatDescAttribute_t)
GETTER(matmul_attribute, cusparseLtMatmulDescGetAttribute, cusparseLtMatmulDescriptor_t,
       cusparseLtMatmulDescAttribute_t)
GETTER(alg_attribute, cusparseLtMatmulAlgGetAttribute, cusparseLtMatmulAlgSelection_t,
       cusparseLtMatmulAlgAttribute_t)

static cusparseStatus_t workspace(const struct wh_slt_use *use, const struct question *q, void *to)
{
	STRUCTS;

	(void)q;
	return wh_raw_cusparseLtMatmulGetWorkspace(WITH(use), ITS(cusparseLtMatmulPlan_t, use), to);
}

static cusparseStatus_t sizes_of_plan(const struct wh_slt_use *use, const struct question *q,
				      void *to)
{
	size_t *size = to;
	STRUCTS;

	(void)q;
	return wh_raw_cusparseLtSpMMACompressedSize(WITH(use), ITS(cusparseLtMatmulPlan_t, use),
						    size, size + 1);
}

static cusparseStatus_t sizes_of_mat(const struct wh_slt_use *use, const struct question *q,
				     void *to)
{
	size_t *size = to;
	STRUCTS;

	(void)q;
	return wh_raw_cusparseLtSpMMACompressedSize2(WITH(use), ITS(cusparseLtMatDescriptor_t, use),
						     size, size + 1);
}

static cusparseStatus_t sizes(const cusparseLtHandle_t *handle, const void *p, uint64_t type,
			      uint32_t call, size_t *size, size_t *buffer, asks *asks)
{
	struct question q = { 0 };
	size_t both[2] = { 0, 0 };
	cusparseStatus_t res;

	res = ask(handle, p, type, call, &q, both, sizeof(both), asks);
	if (res != CUSPARSE_STATUS_SUCCESS)
		return res;
	if (!size || !buffer)
		return BAD;
	*size = both[0];
	*buffer = both[1];
	return res;
}

/* --- The functions ----------------------------------------------------------------------- */

#define MAT	WH_H_cusparseLtMatDescriptor_t
#define MATMUL	WH_H_cusparseLtMatmulDescriptor_t
#define ALG	WH_H_cusparseLtMatmulAlgSelection_t
#define PLAN	WH_H_cusparseLtMatmulPlan_t

cusparseStatus_t cusparseLtInit(cusparseLtHandle_t *handle)
{
	_Alignas(16) struct wh_opaque made;
	struct wh_slt_object *o;
	cusparseStatus_t res;

	if (!handle)
		return BAD;
	lock();
	res = wh_raw_cusparseLtInit((void *)&made);
	if (res == CUSPARSE_STATUS_SUCCESS) {
		o = wh_slt_new(WH_H_cusparseLtHandle_t, NULL, 0, NULL);
		if (o)
			o->real = made.id;
		if (!o || !wh_slt_give_name(o, handle)) {
			wh_raw_cusparseLtDestroy((void *)&made);
			res = MEMORY;
		}
		wh_slt_release(o);
	}
	unlock();
	return res;
}

cusparseStatus_t cusparseLtDestroy(const cusparseLtHandle_t *handle)
{
	struct wh_slt_object *o;
	cusparseStatus_t res = NONE;
	STRUCTS;

	lock();
	o = wh_slt_take_any(handle, WH_H_cusparseLtHandle_t);
	if (o) {
		wh_slt_forget(o->real);
		res = wh_raw_cusparseLtDestroy(AS(cusparseLtHandle_t, 0, o->real));
	}
	if (res == CUSPARSE_STATUS_SUCCESS)
		wh_slt_end(o);
	wh_slt_release(o);
	unlock();
	return res;
}

cusparseStatus_t cusparseLtGetVersion(const cusparseLtHandle_t *handle, int *version)
{
	uint64_t real;
	STRUCTS;

	lock();
	real = handle_of(handle);
	unlock();
	return real ? wh_raw_cusparseLtGetVersion(AS(cusparseLtHandle_t, 0, real), version) : NONE;
}

cusparseStatus_t cusparseLtDenseDescriptorInit(const cusparseLtHandle_t *handle,
					       cusparseLtMatDescriptor_t *matDescr, int64_t rows,
					       int64_t cols, int64_t ld, uint32_t alignment,
					       cudaDataType valueType, cusparseOrder_t order)
{
	return make(handle, matDescr, MAT, (struct wh_slt_step) {
		.op = WH_SLT_DENSE, .mat = { rows, cols, ld, alignment, valueType, order, 0 },
	}, (struct from) { .n = 0 });
}

cusparseStatus_t cusparseLtStructuredDescriptorInit(const cusparseLtHandle_t *handle,
						    cusparseLtMatDescriptor_t *matDescr,
						    int64_t rows, int64_t cols, int64_t ld,
						    uint32_t alignment, cudaDataType valueType,
						    cusparseOrder_t order,
						    cusparseLtSparsity_t sparsity)
{
	return make(handle, matDescr, MAT, (struct wh_slt_step) {
		.op = WH_SLT_STRUCTURED,
		.mat = { rows, cols, ld, alignment, valueType, order, sparsity },
	}, (struct from) { .n = 0 });
}

cusparseStatus_t cusparseLtMatDescriptorDestroy(const cusparseLtMatDescriptor_t *matDescr)
{
	return destroy(matDescr, MAT);
}

cusparseStatus_t cusparseLtMatDescSetAttribute(const cusparseLtHandle_t *handle,
					       cusparseLtMatDescriptor_t *matDescr,
					       cusparseLtMatDescAttribute_t attribute,
					       const void *data, size_t dataSize)
{
	return set(handle, matDescr, MAT, attribute, data, dataSize);
}

cusparseStatus_t cusparseLtMatDescGetAttribute(const cusparseLtHandle_t *handle,
					       const cusparseLtMatDescriptor_t *matDescr,
					       cusparseLtMatDescAttribute_t attribute, void *data,
					       size_t dataSize)
{
	return get(handle, matDescr, MAT, WH_CALL_cusparseLtMatDescGetAttribute, attribute, data,
		   dataSize, mat_attribute);
}

cusparseStatus_t cusparseLtMatmulDescriptorInit(const cusparseLtHandle_t *handle,
						cusparseLtMatmulDescriptor_t *matmulDescr,
						cusparseOperation_t opA, cusparseOperation_t opB,
						const cusparseLtMatDescriptor_t *matA,
						const cusparseLtMatDescriptor_t *matB,
						const cusparseLtMatDescriptor_t *matC,
						const cusparseLtMatDescriptor_t *matD,
						cusparseComputeType computeType)
{
	return make(handle, matmulDescr, MATMUL, (struct wh_slt_step) {
		.op = WH_SLT_MATMUL, .matmul = { opA, opB, computeType },
	}, (struct from) { { matA, matB, matC, matD }, { MAT, MAT, MAT, MAT }, 4 });
}

cusparseStatus_t cusparseLtMatmulDescSetAttribute(const cusparseLtHandle_t *handle,
						  cusparseLtMatmulDescriptor_t *matmulDescr,
						  cusparseLtMatmulDescAttribute_t attribute,
						  const void *data, size_t dataSize)
{
	return set(handle, matmulDescr, MATMUL, attribute, data, dataSize);
}

cusparseStatus_t cusparseLtMatmulDescGetAttribute(const cusparseLtHandle_t *handle,
						  const cusparseLtMatmulDescriptor_t *matmulDescr,
						  cusparseLtMatmulDescAttribute_t attribute,
						  void *data, size_t dataSize)
{
	return get(handle, matmulDescr, MATMUL, WH_CALL_cusparseLtMatmulDescGetAttribute, attribute,
		   data, dataSize, matmul_attribute);
}

cusparseStatus_t cusparseLtMatmulAlgSelectionInit(const cusparseLtHandle_t *handle,
						  cusparseLtMatmulAlgSelection_t *algSelection,
						  const cusparseLtMatmulDescriptor_t *matmulDescr,
						  cusparseLtMatmulAlg_t alg)
{
	return make(handle, algSelection, ALG, (struct wh_slt_step) {
		.op = WH_SLT_ALG, .alg = alg,
	}, (struct from) { { matmulDescr }, { MATMUL }, 1 });
}

cusparseStatus_t cusparseLtMatmulAlgSelectionDestroy(const cusparseLtMatmulAlgSelection_t *alg)
{
	return destroy(alg, ALG);
}

cusparseStatus_t cusparseLtMatmulAlgSetAttribute(const cusparseLtHandle_t *handle,
						 cusparseLtMatmulAlgSelection_t *algSelection,
						 cusparseLtMatmulAlgAttribute_t attribute,
						 const void *data, size_t dataSize)
{
	return set(handle, algSelection, ALG, attribute, data, dataSize);
}

cusparseStatus_t cusparseLtMatmulAlgGetAttribute(const cusparseLtHandle_t *handle,
						 const cusparseLtMatmulAlgSelection_t *algSelection,
						 cusparseLtMatmulAlgAttribute_t attribute,
						 void *data, size_t dataSize)
{
	return get(handle, algSelection, ALG, WH_CALL_cusparseLtMatmulAlgGetAttribute, attribute,
		   data, dataSize, alg_attribute);
}

cusparseStatus_t cusparseLtMatmulPlanInit(const cusparseLtHandle_t *handle,
					  cusparseLtMatmulPlan_t *plan,
					  const cusparseLtMatmulDescriptor_t *matmulDescr,
					  const cusparseLtMatmulAlgSelection_t *algSelection)
{
	return make(handle, plan, PLAN, (struct wh_slt_step) { .op = WH_SLT_PLAN },
		    (struct from) { { matmulDescr, algSelection }, { MATMUL, ALG }, 2 });
}

cusparseStatus_t cusparseLtMatmulPlanDestroy(const cusparseLtMatmulPlan_t *plan)
{
	return destroy(plan, PLAN);
}

cusparseStatus_t cusparseLtMatmulGetWorkspace(const cusparseLtHandle_t *handle,
					      const cusparseLtMatmulPlan_t *plan,
					      size_t *workspaceSize)
{
	struct question q = { 0 };

	return ask(handle, plan, PLAN, WH_CALL_cusparseLtMatmulGetWorkspace, &q, workspaceSize,
		   sizeof(*workspaceSize), workspace);
}

cusparseStatus_t cusparseLtSpMMACompressedSize(const cusparseLtHandle_t *handle,
					       const cusparseLtMatmulPlan_t *plan,
					       size_t *compressedSize, size_t *compressedBufferSize)
{
	return sizes(handle, plan, PLAN, WH_CALL_cusparseLtSpMMACompressedSize, compressedSize,
		     compressedBufferSize, sizes_of_plan);
}

cusparseStatus_t cusparseLtSpMMACompressedSize2(const cusparseLtHandle_t *handle,
						const cusparseLtMatDescriptor_t *sparseMatDescr,
						size_t *compressedSize,
						size_t *compressedBufferSize)
{
	return sizes(handle, sparseMatDescr, MAT, WH_CALL_cusparseLtSpMMACompressedSize2,
		     compressedSize, compressedBufferSize, sizes_of_mat);
}
