// SPDX-License-Identifier: Apache-2.0
/*
 * cuFFT plans in the worker. Owns what the library was last told about each plan (stream, work
 * area, whether to allocate one). Also owns how far an execution reaches from the addresses that it
 * is given, which follows from how the plan was made.
 */
#include "libraries/cufft_plan.h"
#include "session/image.h"
#include "session/output.h"

#include <stdlib.h>

struct plan *wh_cufft_plan(struct wh_session *s, const struct wh_obj_cufftHandle *o)
{
	return wh_handles_get(&s->handles, o->id, WH_H_cufftHandle);
}

/* --- State that travels ----------------------------------------------------------- */

static cufftResult tell_area(struct wh_session *s, const struct wh_cufft_functions *l,
			     struct plan *p, const struct wh_obj_cufftHandle *o)
{
	cufftResult res;

	/* Each GPU has an area of its own: one address would be taken for all of them. */
	if (p->gpus > 1)
		return (cufftResult)wh_library_missing(s, "cufftSetWorkArea on several GPUs",
						       CUFFT_NOT_SUPPORTED);
	if (o->work_area && wh_reach(s, o->work_area, p->work[0] ? p->work[0] : 1) != CUDA_SUCCESS)
		return CUFFT_INVALID_VALUE;
	res = l->cufftSetWorkArea(p->real, (void *)o->work_area);
	if (res != CUFFT_SUCCESS)
		return res;
	p->own_area = true;
	p->area = o->work_area;
	return CUFFT_SUCCESS;
}

/* Only a plan that is made has a use for a stream and a work area. */
static cufftResult tell_made(struct wh_session *s, const struct wh_cufft_functions *l,
			     struct plan *p, const struct wh_obj_cufftHandle *o, CUstream stream)
{
	cufftResult res;

	if (o->stream != p->stream) {
		res = l->cufftSetStream(p->real, stream);
		if (res != CUFFT_SUCCESS)
			return res;
		p->stream = o->stream;
	}
	if (o->own_area && (!p->own_area || o->work_area != p->area))
		return tell_area(s, l, p, o);
	return CUFFT_SUCCESS;
}

cufftResult wh_enter_cufftHandle(struct wh_session *s, const struct wh_cufft_functions *l,
				 const struct wh_obj_cufftHandle *o, cufftHandle *real,
				 CUstream *stream)
{
	struct plan *p = wh_cufft_plan(s, o);
	cufftResult res;

	if (!p)
		return CUFFT_INVALID_PLAN;
	/* This happens each time: a stream that was destroyed must not reach the library. */
	if (!wh_get(s, WH_H_CUstream, o->stream, (void **)stream))
		return CUFFT_INVALID_VALUE;
	*real = p->real;
	if (p->made)
		return tell_made(s, l, p, o, *stream);
	if (!!o->allocate != p->allocate) {
		res = l->cufftSetAutoAllocation(p->real, !!o->allocate);
		if (res != CUFFT_SUCCESS)
			return res;
		p->allocate = o->allocate;
	}
	return CUFFT_SUCCESS;
}

/* --- Life ----------------------------------------------------------- */

static void forget_code(struct plan *p)
{
	int i;

	for (i = 0; i < TYPES; i++)
		free(p->code[i]);
}

static bool complete(const struct wh_cufft_functions *l)
{
	return l->cufftCreate && l->cufftDestroy && l->cufftSetStream &&
	       l->cufftSetAutoAllocation && l->cufftSetWorkArea && l->cufftGetSize;
}

int32_t wh_do_cufftCreate(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	const struct wh_req *q = f->req;
	struct wh_rsp_cufftCreate *r = wh_reply(f, sizeof(*r));
	struct plan *p;
	cufftResult res;

	if (!complete(l))
		return wh_library_missing(s, "cufftCreate or what belongs to it",
					  CUFFT_NOT_SUPPORTED);
	p = calloc(1, sizeof(*p));
	if (!p)
		return CUFFT_ALLOC_FAILED;
	p->allocate = true;
	res = l->cufftCreate(&p->real);
	if (res == CUFFT_SUCCESS) {
		r->plan = wh_new(s, WH_H_cufftHandle, p, q->ctx);
		if (r->plan)
			return CUFFT_SUCCESS;
		l->cufftDestroy(p->real);
		res = CUFFT_ALLOC_FAILED;
	}
	free(p);
	return res;
}

/* The library's descriptors lead to the plan that made them, so it stays for them. */
cufftResult wh_cufft_plan_end(const struct wh_cufft_functions *l, struct plan *p)
{
	cufftResult res;

	if (!p->ended || p->users)
		return CUFFT_SUCCESS;
	res = l->cufftDestroy(p->real);
	if (res != CUFFT_SUCCESS) {
		p->ended = false;
		return res;
	}
	forget_code(p);
	free(p);
	return CUFFT_SUCCESS;
}

int32_t wh_do_cufftDestroy(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	const struct wh_req_cufftDestroy *q = f->req;
	cufftResult res;
	struct plan *p;

	if (f->req_size < sizeof(*q))
		return CUFFT_INVALID_VALUE;
	p = wh_handles_get(&s->handles, q->plan, WH_H_cufftHandle);
	if (!p)
		return CUFFT_INVALID_PLAN;
	p->ended = true;
	res = wh_cufft_plan_end(l, p);
	if (res == CUFFT_SUCCESS)
		wh_drop(s, q->plan);
	return res;
}

/* --- How far a plan reaches ----------------------------------------------------------- */

/* One side of a plan. If only one side is real, the sizes of the last dimension differ. */
struct layout {
	uint64_t last;		/* elements of the last dimension */
	uint64_t size;		/* bytes of an element; 0: the type is unknown */
	const int64_t *embed;	/* NULL: the basic layout */
	int64_t stride, dist;
};

static uint64_t plus(uint64_t a, uint64_t b)
{
	uint64_t n;

	return __builtin_add_overflow(a, b, &n) ? UINT64_MAX : n;
}

/* Nobody could check steps backwards, so they count as reaching everything. */
static uint64_t far(int64_t step)
{
	return step < 0 ? UINT64_MAX : (uint64_t)step;
}

/*
 * Returns how many bytes `rank` dimensions reach, `batch` times. A size that cannot be counted
 * reaches everything. Without elements nothing is reached, and the library judges the call.
 */
static uint64_t reach_of(int rank, const int64_t *n, const struct layout *a, int64_t batch)
{
	uint64_t last = 0, all = 1, dim;
	int i;

	if (!a->size)
		return UINT64_MAX;
	for (i = 0; i < rank; i++) {
		dim = i == rank - 1 ? a->last : far(n[i]);
		if (!dim || batch <= 0)
			return 0;
		if (i)
			last = wh_times(last, a->embed ? far(a->embed[i]) : dim);
		last = plus(last, dim - 1);
		all = wh_times(all, dim);
	}
	if (!a->embed)
		return wh_times(wh_times(all, batch), a->size);
	last = plus(wh_times(last, far(a->stride)), wh_times(batch - 1, far(a->dist)));
	return wh_times(plus(last, 1), a->size);
}

/*
 * Returns the bytes of an element, and whether it is real; 0 for a type that cuFFT does not have.
 */
static uint64_t type_size(cudaDataType type, bool *real)
{
	*real = type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F ||
		type == CUDA_R_64F;
	switch (type) {
	case CUDA_R_16F:
	case CUDA_R_16BF:
		return 2;
	case CUDA_R_32F:
	case CUDA_C_16F:
	case CUDA_C_16BF:
		return 4;
	case CUDA_R_64F:
	case CUDA_C_32F:
		return 8;
	case CUDA_C_64F:
		return 16;
	default:
		return 0;
	}
}

static void types_of(cufftType type, cudaDataType *in, cudaDataType *out)
{
	*in = type == CUFFT_R2C ? CUDA_R_32F : type == CUFFT_D2Z ? CUDA_R_64F :
	      type == CUFFT_C2C || type == CUFFT_C2R ? CUDA_C_32F : CUDA_C_64F;
	*out = type == CUFFT_C2R ? CUDA_R_32F : type == CUFFT_Z2D ? CUDA_R_64F :
	       type == CUFFT_C2C || type == CUFFT_R2C ? CUDA_C_32F : CUDA_C_64F;
}

struct shape {
	int rank;
	int64_t n[MAX_SHIM_RANK], batch;
	struct layout in, out;
	int64_t inembed[MAX_SHIM_RANK], onembed[MAX_SHIM_RANK];
	cudaDataType intype, outtype;
};

/* Are there bytes between the elements of a side? */
static bool has_gaps(const struct shape *h, const struct layout *a)
{
	struct layout basic = *a;

	basic.embed = NULL;
	return reach_of(h->rank, h->n, a, h->batch) != reach_of(h->rank, h->n, &basic, h->batch);
}

static void note_shape(struct wh_session *s, const struct wh_obj_cufftHandle *o, struct shape *h)
{
	struct plan *p = wh_cufft_plan(s, o);
	uint64_t whole = far(h->n[h->rank - 1]), half = whole / 2 + 1;
	bool in, out;

	if (!p)
		return;
	h->in.size = type_size(h->intype, &in);
	h->out.size = type_size(h->outtype, &out);
	/* If one side is complex and the other real, the complex side has only its first half. */
	h->in.last = !in && out && whole ? half : whole;
	h->out.last = in && !out && whole ? half : whole;
	p->next.side[WH_CUFFT_IN] = reach_of(h->rank, h->n, &h->in, h->batch);
	p->next.side[WH_CUFFT_OUT] = reach_of(h->rank, h->n, &h->out, h->batch);
	p->next.gaps[WH_CUFFT_IN] = has_gaps(h, &h->in);
	p->next.gaps[WH_CUFFT_OUT] = has_gaps(h, &h->out);
}

static cufftResult note_basic(struct wh_session *s, const struct wh_obj_cufftHandle *o, int rank,
			      const int n[], cufftType type, int batch)
{
	struct shape h = { .rank = rank, .batch = batch };
	int i;

	for (i = 0; i < rank; i++)
		h.n[i] = n[i];
	types_of(type, &h.intype, &h.outtype);
	note_shape(s, o, &h);
	return CUFFT_SUCCESS;
}

cufftResult wh_check_cufftMakePlan1d(struct wh_session *s, const struct wh_req_cufftMakePlan1d *q)
{
	cufftResult res = wh_cufft_sizes(s, &q->plan, q->workSize_count);

	if (res != CUFFT_SUCCESS)
		return res;
	return note_basic(s, &q->plan, 1, &q->nx, q->type, q->batch);
}

cufftResult wh_check_cufftMakePlan2d(struct wh_session *s, const struct wh_req_cufftMakePlan2d *q)
{
	cufftResult res = wh_cufft_sizes(s, &q->plan, q->workSize_count);

	if (res != CUFFT_SUCCESS)
		return res;
	return note_basic(s, &q->plan, 2, (const int[]){ q->nx, q->ny }, q->type, 1);
}

cufftResult wh_check_cufftMakePlan3d(struct wh_session *s, const struct wh_req_cufftMakePlan3d *q)
{
	cufftResult res = wh_cufft_sizes(s, &q->plan, q->workSize_count);

	if (res != CUFFT_SUCCESS)
		return res;
	return note_basic(s, &q->plan, 3, (const int[]){ q->nx, q->ny, q->nz }, q->type, 1);
}

/* The arrays of sizes of a call; the library reads `rank` elements of each that exists. */
struct arrays {
	const void *n, *inembed, *onembed;
	bool wide;		/* 64 bits each, not 32 */
	uint64_t sizes;		/* of work areas that come back */
};

static int64_t at(const struct arrays *a, const void *array, int i)
{
	return a->wide ? ((const long long *)array)[i] : ((const int *)array)[i];
}

static cufftResult arrays_good(int rank, const void *n)
{
	return wh_cufft_rank(rank) && n ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}

/* Fills in the rest of the shape. If one layout is the basic one, both are. */
static cufftResult note_many(struct wh_session *s, const struct wh_obj_cufftHandle *o,
			     const struct arrays *a, struct shape *h)
{
	bool advanced = a->inembed && a->onembed;
	cufftResult res = wh_cufft_sizes(s, o, a->sizes);
	int i;

	if (res != CUFFT_SUCCESS)
		return res;
	if (arrays_good(h->rank, a->n) != CUFFT_SUCCESS)
		return CUFFT_INVALID_VALUE;
	for (i = 0; i < h->rank; i++) {
		h->n[i] = at(a, a->n, i);
		h->inembed[i] = advanced ? at(a, a->inembed, i) : 0;
		h->onembed[i] = advanced ? at(a, a->onembed, i) : 0;
	}
	h->in.embed = advanced ? h->inembed : NULL;
	h->out.embed = advanced ? h->onembed : NULL;
	note_shape(s, o, h);
	return CUFFT_SUCCESS;
}

#define SHAPE_OF(q) {					\
	.rank = (q)->rank, .batch = (q)->batch,		\
	.in = { .stride = (q)->istride, .dist = (q)->idist },	\
	.out = { .stride = (q)->ostride, .dist = (q)->odist },	\
}

cufftResult wh_bound_cufftMakePlanMany(struct wh_session *s, struct wh_frame *f, const int *n,
				       const int *inembed, const int *onembed)
{
	const struct wh_req_cufftMakePlanMany *q = f->req;
	struct shape h = SHAPE_OF(q);

	types_of(q->type, &h.intype, &h.outtype);
	return note_many(s, &q->plan, &(struct arrays){ n, inembed, onembed, false,
			 q->workSize_count }, &h);
}

cufftResult wh_bound_cufftMakePlanMany64(struct wh_session *s, struct wh_frame *f,
					 const long long *n, const long long *inembed,
					 const long long *onembed)
{
	const struct wh_req_cufftMakePlanMany64 *q = f->req;
	struct shape h = SHAPE_OF(q);

	types_of(q->type, &h.intype, &h.outtype);
	return note_many(s, &q->plan, &(struct arrays){ n, inembed, onembed, true,
			 q->workSize_count }, &h);
}

cufftResult wh_bound_cufftXtMakePlanMany(struct wh_session *s, struct wh_frame *f,
					 const long long *n, const long long *inembed,
					 const long long *onembed)
{
	const struct wh_req_cufftXtMakePlanMany *q = f->req;
	struct shape h = SHAPE_OF(q);

	h.intype = q->inputtype;
	h.outtype = q->outputtype;
	return note_many(s, &q->plan, &(struct arrays){ n, inembed, onembed, true,
			 q->workSize_count }, &h);
}

static bool has_callback(const struct plan *p, enum wh_cufft_side side)
{
	int i, first = side == WH_CUFFT_IN ? CUFFT_CB_LD_COMPLEX : CUFFT_CB_ST_COMPLEX;

	for (i = first; i < first + TYPES / 2; i++)
		if (p->callback[i])
			return true;
	return false;
}

uint64_t wh_cufft_extent(struct wh_session *s, const struct wh_obj_cufftHandle *o,
			 enum wh_cufft_side side)
{
	const struct plan *p = wh_cufft_plan(s, o);

	/*
	 * If the plan is not made, the library will say so, and only one byte is checked. So it is
	 * where a callback of the program's reads or writes in the kernels' place.
	 */
	return p && p->made && !has_callback(p, side) ? p->reach.side[side] : 1;
}

/* --- Plans that are made ----------------------------------------------------------- */

static void ask_size(struct wh_session *s, struct plan *p)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	size_t size[MAX_CUDA_DESCRIPTOR_GPUS] = { 0 };
	bool known = l->cufftGetSize(p->real, size) == CUFFT_SUCCESS;
	int i;

	/* If the size is unknown, no area is large enough. */
	for (i = 0; i < WH_CUFFT_GPUS; i++)
		p->work[i] = known ? size[i] : UINT64_MAX;
	p->own_area = false;
}

static void made(struct wh_session *s, const struct wh_obj_cufftHandle *o, cufftResult res)
{
	struct plan *p = wh_cufft_plan(s, o);

	if (!p)
		return;
	p->broken = !p->made && res != CUFFT_SUCCESS;
	if (res != CUFFT_SUCCESS)
		return;
	p->made = true;
	p->reach = p->next;
	ask_size(s, p);
}

#define MADE(name) \
void wh_done_##name(struct wh_session *s, struct wh_req_##name *q, cufftResult res) \
{ \
	made(s, &q->plan, res); \
}

MADE(cufftMakePlan1d)
MADE(cufftMakePlan2d)
MADE(cufftMakePlan3d)
MADE(cufftMakePlanMany)
MADE(cufftMakePlanMany64)
MADE(cufftXtMakePlanMany)

/* The library follows what is not there in a plan that it could not make with a callback. */
#define CHECKED(name) \
cufftResult wh_check_##name(struct wh_session *s, const struct wh_req_##name *q) \
{ \
	const struct plan *p = wh_cufft_plan(s, &q->plan); \
\
	return p && p->broken ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS; \
}

CHECKED(cufftExecC2C)
CHECKED(cufftExecR2C)
CHECKED(cufftExecC2R)
CHECKED(cufftExecZ2Z)
CHECKED(cufftExecD2Z)
CHECKED(cufftExecZ2D)
CHECKED(cufftXtExec)

void wh_done_cufftXtSetWorkAreaPolicy(struct wh_session *s,
				      struct wh_req_cufftXtSetWorkAreaPolicy *q, cufftResult res)
{
	struct plan *p = wh_cufft_plan(s, &q->plan);

	if (p && p->made && res == CUFFT_SUCCESS)
		ask_size(s, p);
}

void wh_cufft_unmake(struct wh_session *s, const struct wh_cufft_functions *l,
		     const struct wh_obj_cufftHandle *o)
{
	struct plan *p = wh_cufft_plan(s, o), was;

	if (!p)
		return;
	l->cufftDestroy(p->real);
	forget_code(p);
	was = *p;
	*p = (struct plan) { .real = CUFFT_PLAN_NULL, .allocate = true };
	/* The client goes on counting this plan's GPUs. */
	if (l->cufftCreate(&p->real) != CUFFT_SUCCESS || !was.gpus || !l->cufftXtSetGPUs ||
	    l->cufftXtSetGPUs(p->real, (int)was.gpus, was.gpu) != CUFFT_SUCCESS)
		return;
	p->gpus = was.gpus;
	memcpy(p->gpu, was.gpu, sizeof(p->gpu));
}

/* --- Questions about sizes -------------------------------------------------------- */

#define ASKED(name, type, before) \
cufftResult wh_bound_##name(struct wh_session *s, struct wh_frame *f, const type *n, \
			    const type *inembed, const type *onembed) \
{ \
	const struct wh_req_##name *q = f->req; \
\
	(void)s, (void)inembed, (void)onembed; \
	return arrays_good(q->rank, n) == CUFFT_SUCCESS ? before : CUFFT_INVALID_VALUE; \
}

ASKED(cufftGetSizeMany, int, wh_cufft_sizes(s, &q->handle, q->workArea_count))
ASKED(cufftGetSizeMany64, long long, wh_cufft_sizes(s, &q->plan, q->workSize_count))
ASKED(cufftXtGetSizeMany, long long, wh_cufft_sizes(s, &q->plan, q->workSize_count))
ASKED(cufftEstimateMany, int, CUFFT_SUCCESS)

#define SIZED(name) \
cufftResult wh_check_##name(struct wh_session *s, const struct wh_req_##name *q) \
{ \
	return wh_cufft_sizes(s, &q->handle, q->workSize_count); \
}

SIZED(cufftGetSize)
SIZED(cufftGetSize1d)
SIZED(cufftGetSize2d)
SIZED(cufftGetSize3d)

/* Nobody says how many limits there are on several GPUs. */
cufftResult wh_check_cufftXtSetWorkAreaPolicy(struct wh_session *s,
		const struct wh_req_cufftXtSetWorkAreaPolicy *q)
{
	const struct plan *p = wh_cufft_plan(s, &q->plan);

	if (!p || p->gpus < 2)
		return CUFFT_SUCCESS;
	return (cufftResult)wh_library_missing(s, "cufftXtSetWorkAreaPolicy on several GPUs",
					       CUFFT_NOT_SUPPORTED);
}

/* Only this query has a struct to be filled in. */
cufftResult wh_check_cufftXtQueryPlan(struct wh_session *s,
				      const struct wh_req_cufftXtQueryPlan *q)
{
	(void)s;
	return q->queryType == CUFFT_QUERY_1D_FACTORS ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}

/* --- Callbacks --------------------------------------------------------------------- */

/* Finds the plan, and tells the library what travels with it. `no_type` is for any other type. */
static cufftResult enter(struct wh_session *s, const struct wh_cufft_functions *l,
			 const struct wh_obj_cufftHandle *o, uint32_t type, cufftResult no_type,
			 struct plan **p)
{
	cufftHandle real;
	CUstream stream;

	*p = wh_cufft_plan(s, o);
	if (!*p)
		return CUFFT_INVALID_PLAN;
	/* The library reads as many routines as there are GPUs, and a request has one. */
	if ((*p)->gpus > 1)
		return (cufftResult)wh_library_missing(s, "callbacks on several GPUs",
						       CUFFT_NOT_SUPPORTED);
	return type < TYPES ? wh_enter_cufftHandle(s, l, o, &real, &stream) : no_type;
}

/* Only kernels use the routine and its information, so that both may be any addresses. */
int32_t wh_do_cufftXtSetCallback(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	const struct wh_req_cufftXtSetCallback *q = f->req;
	void *routine[1], *info[1];
	cufftResult res;
	struct plan *p;

	wh_reply(f, sizeof(struct wh_rsp));
	if (f->req_size < sizeof(*q))
		return CUFFT_INVALID_VALUE;
	if (!complete(l) || !l->cufftXtSetCallback)
		return wh_library_missing(s, "cufftXtSetCallback", CUFFT_NOT_SUPPORTED);
	res = enter(s, l, &q->plan, q->type, CUFFT_INVALID_VALUE, &p);
	if (res != CUFFT_SUCCESS)
		return res;
	routine[0] = (void *)q->routine;
	info[0] = (void *)q->caller_info;
	res = l->cufftXtSetCallback(p->real, routine, (cufftXtCallbackType)q->type,
				    q->has_info ? info : NULL);
	if (res == CUFFT_SUCCESS)
		p->callback[q->type] = true;
	return res;
}

/* What callers' code is given goes with it: the library is not known to have read it before. */
struct code {
	void *info[1];
	const char *name;	/* NULL: the client gave none, and the library judges the plan */
	char bytes[] __attribute__((aligned(16)));	/* the code, and the name */
};

/*
 * Takes a copy of name and code, which stays as long as the plan. The name may be NULL. Returns
 * NULL if res says why.
 */
static struct code *take_code(struct wh_frame *f, const struct wh_req_cufftXtSetJITCallback *q,
			      cufftResult *res)
{
	const char *name;
	struct code *copy;
	void *code;

	*res = CUFFT_INVALID_VALUE;
	if (q->name_size > WH_CUFFT_CODE_MAX || q->code_size > WH_CUFFT_CODE_MAX - q->name_size)
		return NULL;
	f->pos = WH_WIRE_FIXED(struct wh_req_cufftXtSetJITCallback);
	if (!wh_request_take_string(f, q->name_size, &name) || !q->code_size ||
	    !wh_request_take(f, q->code_size, 1, &code) || !wh_image_is_whole(code, q->code_size))
		return NULL;
	copy = malloc(sizeof(*copy) + q->name_size + q->code_size);
	*res = copy ? CUFFT_SUCCESS : CUFFT_ALLOC_FAILED;
	if (copy) {
		copy->info[0] = (void *)q->caller_info;
		memcpy(copy->bytes, code, q->code_size);
		copy->name = name ? memcpy(copy->bytes + q->code_size, name, q->name_size) : NULL;
	}
	return copy;
}

static cufftResult set_code(const struct wh_cufft_functions *l, struct plan *p,
			    const struct wh_req_cufftXtSetJITCallback *q, struct code *code)
{
	cufftResult res;

	res = l->cufftXtSetJITCallback(p->real, code->name, code->bytes, q->code_size,
				       (cufftXtCallbackType)q->type,
				       q->has_info ? code->info : NULL);
	if (res != CUFFT_SUCCESS) {
		free(code);
		return res;
	}
	free(p->code[q->type]);
	p->code[q->type] = code;
	p->callback[q->type] = true;
	return res;
}

int32_t wh_do_cufftXtSetJITCallback(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	const struct wh_req_cufftXtSetJITCallback *q = f->req;
	struct code *code;
	cufftResult res;
	struct plan *p;

	wh_reply(f, sizeof(struct wh_rsp));
	if (f->req_size < sizeof(*q))
		return CUFFT_INVALID_VALUE;
	/* A library of CUDA 12 has an older function of this name, with other arguments. */
	if (!complete(l) || !l->cufftXtSetJITCallback || s->handles.edition)
		return wh_library_missing(s, "cufftXtSetJITCallback", CUFFT_NOT_SUPPORTED);
	res = enter(s, l, &q->plan, q->type, CUFFT_INVALID_TYPE, &p);
	if (res != CUFFT_SUCCESS)
		return res;
	code = take_code(f, q, &res);
	if (!code)
		return res;
	wh_output_look_at(s, code->bytes, q->code_size);
	return set_code(l, p, q, code);
}

cufftResult wh_check_cufftXtClearCallback(struct wh_session *s,
					  const struct wh_req_cufftXtClearCallback *q)
{
	(void)s;
	return (uint32_t)q->cbType < TYPES ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}

void wh_done_cufftXtClearCallback(struct wh_session *s, struct wh_req_cufftXtClearCallback *q,
				  cufftResult res)
{
	struct plan *p = wh_cufft_plan(s, &q->plan);

	if (p && res == CUFFT_SUCCESS)
		p->callback[q->cbType] = false;
}

cufftResult wh_check_cufftXtSetCallbackSharedSize(struct wh_session *s,
		const struct wh_req_cufftXtSetCallbackSharedSize *q)
{
	(void)s;
	return (uint32_t)q->cbType < TYPES ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}
