// SPDX-License-Identifier: Apache-2.0
/*
 * The client's side of a cuFFT plan. Owns the numbers by which programs know plans, and a
 * plan's settings (stream, work area). To set one makes no call; all of them are sent with the
 * next call.
 */
#include "cufft_stub.h"

#include <stdlib.h>

/*
 * A number is a place in the table and how often the place was used before, so no two plans
 * have the same.
 */
#define PLACES		(1 << 16)
#define USES		(1 << 14)

struct plan {
	cufftHandle number;	/* -1: there is no plan here */
	int uses;
	cudaStream_t stream;	/* as the program names it */
	uint32_t gpus;		/* 0: it has the current one */
	struct wh_obj_cufftHandle o;
};

/* Places are never freed: if a program asks for a destroyed plan, none is found. */
static struct plan *plans[PLACES];
static int used = 1;	/* 0 is no plan's number */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
WH_IN_CHILD(pthread_mutex_init(&lock, NULL))

static struct plan *find(cufftHandle number)
{
	struct plan *p = number > 0 ? __atomic_load_n(&plans[number % PLACES], __ATOMIC_ACQUIRE) :
				      NULL;

	return p && p->number == number ? p : NULL;
}

/* Returns an empty place, or NULL. */
static struct plan *place(int *at)
{
	struct plan *p;

	for (*at = 1; *at < used; ++*at)
		if (plans[*at]->number == CUFFT_PLAN_NULL)
			return plans[*at];
	p = used < PLACES ? calloc(1, sizeof(*p)) : NULL;
	if (p) {
		p->number = CUFFT_PLAN_NULL;
		__atomic_store_n(&plans[used++], p, __ATOMIC_RELEASE);
	}
	return p;
}

/* Returns the number of a plan that the worker calls `id`; CUFFT_PLAN_NULL: no memory. */
static cufftHandle keep(uint64_t id)
{
	cufftHandle number = CUFFT_PLAN_NULL;
	struct plan *p;
	int at;

	pthread_mutex_lock(&lock);
	p = place(&at);
	if (p) {
		p->stream = NULL;
		p->gpus = 0;
		p->o = (struct wh_obj_cufftHandle) { .id = id, .allocate = 1 };
		number = p->uses * PLACES + at;
		p->uses = (p->uses + 1) % USES;
		p->number = number;
	}
	pthread_mutex_unlock(&lock);
	return number;
}

static void forget(struct plan *p)
{
	pthread_mutex_lock(&lock);
	p->number = CUFFT_PLAN_NULL;
	pthread_mutex_unlock(&lock);
}

bool wh_pack_cufftHandle(cufftHandle plan, struct wh_obj_cufftHandle *out)
{
	const struct plan *p = find(plan);

	if (!p)
		return false;
	*out = p->o;
	/* The per-thread default stream differs from thread to thread. */
	if (p->stream)
		out->stream = wh_library_stream(p->stream);
	return true;
}

uint32_t wh_cufft_gpus(cufftHandle plan)
{
	const struct plan *p = find(plan);

	return p && p->gpus ? p->gpus : 1;
}

void wh_cufft_set_gpus(cufftHandle plan, uint32_t count)
{
	struct plan *p = find(plan);

	if (p)
		p->gpus = count;
}

/* --- Life -------------------------------------------------------------------------- */

static cufftResult create(uint64_t *id)
{
	const struct wh_rsp_cufftCreate *r;
	struct wh_call c;
	cufftResult res;

	if (!wh_cufft_begin(&c, WH_CALL_cufftCreate, sizeof(struct wh_req_cufftCreate)))
		return wh_cufft_lost(c.result);
	res = wh_cufft_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUFFT_SUCCESS)
		*id = r->plan;
	wh_end(&c);
	return res;
}

static cufftResult destroy(uint64_t id)
{
	struct wh_req_cufftDestroy *q;
	struct wh_call c;
	cufftResult res;

	q = wh_cufft_begin(&c, WH_CALL_cufftDestroy, sizeof(*q));
	if (!q)
		return wh_cufft_lost_end(c.result);
	q->plan = id;
	res = wh_cufft_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

cufftResult cufftCreate(cufftHandle *handle)
{
	cufftHandle number;
	cufftResult res;
	uint64_t id;

	if (!handle)
		return CUFFT_INVALID_VALUE;
	res = create(&id);
	if (res != CUFFT_SUCCESS)
		return res;
	number = keep(id);
	if (number == CUFFT_PLAN_NULL) {
		destroy(id);
		return CUFFT_ALLOC_FAILED;
	}
	*handle = number;
	return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle plan)
{
	struct plan *p = find(plan);
	cufftResult res;

	if (!p)
		return CUFFT_INVALID_PLAN;
	res = destroy(p->o.id);
	if (res == CUFFT_SUCCESS)
		forget(p);
	return res;
}

/*
 * Ends cufftPlan*(): the plan that it has created goes to the program if it was made, and is
 * destroyed if not.
 */
static cufftResult made(cufftHandle plan, cufftResult res, cufftHandle *out)
{
	if (res == CUFFT_SUCCESS)
		*out = plan;
	else
		cufftDestroy(plan);
	return res;
}

cufftResult cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch)
{
	cufftHandle p;
	cufftResult res = plan ? cufftCreate(&p) : CUFFT_INVALID_VALUE;
	size_t size;

	if (res != CUFFT_SUCCESS)
		return res;
	return made(p, cufftMakePlan1d(p, nx, type, batch, &size), plan);
}

cufftResult cufftPlan2d(cufftHandle *plan, int nx, int ny, cufftType type)
{
	cufftHandle p;
	cufftResult res = plan ? cufftCreate(&p) : CUFFT_INVALID_VALUE;
	size_t size;

	if (res != CUFFT_SUCCESS)
		return res;
	return made(p, cufftMakePlan2d(p, nx, ny, type, &size), plan);
}

cufftResult cufftPlan3d(cufftHandle *plan, int nx, int ny, int nz, cufftType type)
{
	cufftHandle p;
	cufftResult res = plan ? cufftCreate(&p) : CUFFT_INVALID_VALUE;
	size_t size;

	if (res != CUFFT_SUCCESS)
		return res;
	return made(p, cufftMakePlan3d(p, nx, ny, nz, type, &size), plan);
}

cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride,
			  int idist, int *onembed, int ostride, int odist, cufftType type,
			  int batch)
{
	cufftHandle p;
	cufftResult res = plan ? cufftCreate(&p) : CUFFT_INVALID_VALUE;
	size_t size;

	if (res != CUFFT_SUCCESS)
		return res;
	return made(p, cufftMakePlanMany(p, rank, n, inembed, istride, idist, onembed, ostride,
					 odist, type, batch, &size), plan);
}

/* --- State -------------------------------------------------------------------------- */

cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
	struct plan *p = find(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	p->stream = stream;
	return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle plan, int autoAllocate)
{
	struct plan *p = find(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	p->o.allocate = !!autoAllocate;
	return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle plan, void *workArea)
{
	struct plan *p = find(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	/* Each GPU has an area of its own: cufftXtSetWorkArea() takes them. */
	if (p->gpus > 1) {
		wh_refuse("cufftSetWorkArea on several GPUs");
		return CUFFT_NOT_SUPPORTED;
	}
	p->o.own_area = 1;
	p->o.work_area = (uintptr_t)workArea;
	return CUFFT_SUCCESS;
}
