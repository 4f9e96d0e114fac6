// SPDX-License-Identifier: Apache-2.0
/*
 * cuSOLVERMg in the worker. Owns handles, grids and descriptors with what they were made of. From
 * that follows how far an operation reaches on each device: a device has every n-th block of a
 * matrix's columns. Whatever is done is done when a call is back, since the library may write its
 * answers to host memory as late.
 */
#include "gen_cusolvermg_server.h"
#include "libraries/several.h"

#include <stdlib.h>

struct mg {
	enum wh_mg_kind kind;
	void *real;
	uint32_t devices;		/* of a descriptor those of its grid */
	int32_t device[WH_MG_DEVICES];
	struct mg *grid;		/* of a descriptor */
	int64_t rows, columns, block;
	uint64_t element;		/* bytes */
	uint32_t users;			/* of a grid: descriptors that are made of it */
	bool ended;			/* no handle leads to this grid any more */
};

static struct mg *find(const struct wh_session *s, uint64_t id, enum wh_mg_kind kind)
{
	struct mg *o = wh_handles_get(&s->handles, id, WH_H_mg);

	return o && o->kind == kind ? o : NULL;
}

static bool complete(const struct wh_cusolvermg_functions *l)
{
	return l->cusolverMgCreate && l->cusolverMgDestroy && l->cusolverMgDeviceSelect &&
	       l->cusolverMgCreateDeviceGrid && l->cusolverMgDestroyGrid &&
	       l->cusolverMgCreateMatrixDesc && l->cusolverMgDestroyMatrixDesc;
}

/* --- Making ---------------------------------------------------------------- */

/* Takes the devices of a request, which must all be the tenant's. */
static bool take_devices(struct wh_session *s, struct wh_frame *f, uint32_t count, struct mg *o)
{
	void *from;

	if (count > WH_MG_DEVICES || !wh_request_take(f, count, sizeof(*o->device), &from))
		return false;
	memcpy(o->device, from, count * sizeof(*o->device));
	o->devices = count;
	return wh_several_are_tenants(s, o->device, count);
}

static cusolverStatus_t make_grid(struct wh_session *s, const struct wh_cusolvermg_functions *l,
				  struct wh_frame *f, struct mg *o)
{
	const struct wh_req_whMgMake *q = f->req;

	if (q->rows != 1 || q->columns != q->devices || !q->devices ||
	    !take_devices(s, f, q->devices, o))
		return CUSOLVER_STATUS_INVALID_VALUE;
	return l->cusolverMgCreateDeviceGrid(&o->real, 1, (int32_t)q->devices, o->device,
					     (cusolverMgGridMapping_t)q->mapping);
}

static cusolverStatus_t make_desc(struct wh_session *s, const struct wh_cusolvermg_functions *l,
				  const struct wh_req_whMgMake *q, struct mg *o)
{
	cusolverStatus_t res;

	o->grid = find(s, q->grid, WH_MG_GRID);
	o->element = wh_type_size((cudaDataType)q->type);
	if (!o->grid || !o->element || q->rows < 0 || q->columns < 0 || q->column_block < 1)
		return CUSOLVER_STATUS_INVALID_VALUE;
	o->devices = o->grid->devices;
	memcpy(o->device, o->grid->device, sizeof(o->device));
	o->rows = q->rows;
	o->columns = q->columns;
	o->block = q->column_block;
	res = l->cusolverMgCreateMatrixDesc(&o->real, q->rows, q->columns, q->row_block,
					    q->column_block, (cudaDataType)q->type, o->grid->real);
	o->grid->users += res == CUSOLVER_STATUS_SUCCESS;
	return res;
}

static cusolverStatus_t make(struct wh_session *s, const struct wh_cusolvermg_functions *l,
			     struct wh_frame *f, struct mg *o)
{
	const struct wh_req_whMgMake *q = f->req;

	switch (o->kind) {
	case WH_MG_HANDLE:
		return l->cusolverMgCreate((cusolverMgHandle_t *)&o->real);
	case WH_MG_GRID:
		return make_grid(s, l, f, o);
	default:
		return make_desc(s, l, q, o);
	}
}

/* --- Ending ---------------------------------------------------------------- */

static void end_grid(const struct wh_cusolvermg_functions *l, struct mg *o)
{
	if (!o->ended || o->users)
		return;
	l->cusolverMgDestroyGrid(o->real);
	free(o);
}

/* Ends the library's object, and the record with it. */
static cusolverStatus_t end(const struct wh_cusolvermg_functions *l, struct mg *o)
{
	struct mg *grid = o->grid;
	cusolverStatus_t res;

	if (o->kind == WH_MG_GRID) {
		/* The library's descriptors lead to their grid, so it stays for them. */
		o->ended = true;
		end_grid(l, o);
		return CUSOLVER_STATUS_SUCCESS;
	}
	if (o->kind == WH_MG_DESC)
		res = l->cusolverMgDestroyMatrixDesc(o->real);
	else	/* no handle came in the place of one that took too much */
		res = o->real ? l->cusolverMgDestroy(o->real) : CUSOLVER_STATUS_SUCCESS;
	if (res != CUSOLVER_STATUS_SUCCESS)
		return res;
	free(o);
	if (grid) {
		grid->users--;
		end_grid(l, grid);
	}
	return CUSOLVER_STATUS_SUCCESS;
}

int32_t wh_do_whMgMake(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cusolvermg_functions *l = wh_library_functions(s, WH_LIB_cusolvermg);
	const struct wh_req_whMgMake *q = f->req;
	struct wh_rsp_whMgMake *r = wh_reply(f, sizeof(*r));
	struct wh_charge charge;
	cusolverStatus_t res;
	struct mg *o;

	if (f->req_size < sizeof(*q) || q->kind >= WH_MG_KINDS)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (!complete(l))
		return wh_library_missing(s, "cusolverMgCreate or what belongs to it",
					  CUSOLVER_STATUS_NOT_SUPPORTED);
	o = calloc(1, sizeof(*o));
	if (!o)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	o->kind = (enum wh_mg_kind)q->kind;
	f->pos = WH_WIRE_FIXED(*q);
	/* What the library takes is the tenant's memory. */
	wh_reconcile_begin(s, &charge);
	res = make(s, l, f, o);
	wh_self.ctx = WH_CTX_UNKNOWN;
	if (res != CUSOLVER_STATUS_SUCCESS) {
		free(o);
		return res;
	}
	/* Grids and descriptors are of no context. */
	if (wh_reconciled(s, &charge))
		r->id = wh_new(s, WH_H_mg, o, o->kind == WH_MG_HANDLE ? q->hdr.ctx : 0);
	if (r->id)
		return CUSOLVER_STATUS_SUCCESS;
	end(l, o);
	wh_reconciled(s, &charge);
	return CUSOLVER_STATUS_ALLOC_FAILED;
}

int32_t wh_do_whMgEnd(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cusolvermg_functions *l = wh_library_functions(s, WH_LIB_cusolvermg);
	const struct wh_req_whMgEnd *q = f->req;
	cusolverStatus_t res;
	struct mg *o;

	wh_reply(f, sizeof(struct wh_rsp));
	if (f->req_size < sizeof(*q))
		return CUSOLVER_STATUS_INVALID_VALUE;
	o = find(s, q->id, (enum wh_mg_kind)q->kind);
	if (!o)
		return CUSOLVER_STATUS_INVALID_VALUE;
	res = end(l, o);
	wh_self.ctx = WH_CTX_UNKNOWN;
	if (res == CUSOLVER_STATUS_SUCCESS)
		wh_drop(s, q->id);
	return res;
}

/* Only its end undoes what a handle took for its devices, so another one comes in its place. */
static void unselect(const struct wh_cusolvermg_functions *l, struct mg *o)
{
	o->devices = 0;
	if (l->cusolverMgDestroy(o->real) != CUSOLVER_STATUS_SUCCESS)
		return;
	o->real = NULL;
	if (l->cusolverMgCreate((cusolverMgHandle_t *)&o->real) != CUSOLVER_STATUS_SUCCESS)
		o->real = NULL;
}

/* The library opens each device to the others, and takes memory there. */
int32_t wh_do_whMgSelect(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cusolvermg_functions *l = wh_library_functions(s, WH_LIB_cusolvermg);
	const struct wh_req_whMgSelect *q = f->req;
	struct wh_charge charge;
	struct mg to = { .devices = 0 };
	cusolverStatus_t res;
	struct mg *o;

	wh_reply(f, sizeof(struct wh_rsp));
	if (f->req_size < sizeof(*q))
		return CUSOLVER_STATUS_INVALID_VALUE;
	o = find(s, q->handle, WH_MG_HANDLE);
	if (!o || !o->real)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	f->pos = WH_WIRE_FIXED(*q);
	if (!q->devices || !take_devices(s, f, q->devices, &to))
		return CUSOLVER_STATUS_INVALID_VALUE;
	wh_reconcile_begin(s, &charge);
	res = l->cusolverMgDeviceSelect(o->real, (int)to.devices, to.device);
	wh_self.ctx = WH_CTX_UNKNOWN;
	if (res != CUSOLVER_STATUS_SUCCESS)
		return res;
	o->devices = to.devices;
	memcpy(o->device, to.device, sizeof(o->device));
	/* It has no devices then, and runs nothing. */
	if (!wh_reconciled(s, &charge)) {
		unselect(l, o);
		wh_self.ctx = WH_CTX_UNKNOWN;
		wh_reconciled(s, &charge);
		return CUSOLVER_STATUS_ALLOC_FAILED;
	}
	return CUSOLVER_STATUS_SUCCESS;
}

/* --- What an operation is given -------------------------------------------- */

/* No info of the library's. */
#define UNTOLD	INT32_MIN

struct run {
	const struct wh_req_whMgRun *q;
	struct mg *handle, *desc[2];
	/*
	 * NULL: there is none. Each is as long as any may be, whichever object's devices the
	 * library counts.
	 */
	void **array[WH_MG_ARRAYS];
	void *room[WH_MG_ARRAYS][WH_MG_DEVICES];
	void *values;
	int64_t work;
	int info;
};

/* Returns how many of a matrix's columns lie on a device: every n-th block, the last one cut. */
static uint64_t columns_on(const struct mg *d, uint32_t device)
{
	uint64_t blocks = (uint64_t)d->columns / (uint64_t)d->block;
	uint64_t rest = (uint64_t)d->columns % (uint64_t)d->block;
	uint64_t whole = blocks / d->devices + (device < blocks % d->devices);

	return whole * (uint64_t)d->block + (device == blocks % d->devices ? rest : 0);
}

/* Returns how many bytes an operation reaches from an array's address for a device. */
static uint64_t reach_of(const struct run *r, enum wh_mg_array which, uint32_t device)
{
	const struct mg *d = r->desc[which == WH_MG_B];

	switch (which) {
	case WH_MG_WORK:
		return wh_times((uint64_t)r->q->work,
				wh_type_size((cudaDataType)r->q->compute_type));
	case WH_MG_PIVOTS:
		return wh_times(columns_on(d, device), sizeof(int));
	default:
		return wh_times(wh_times(columns_on(d, device), (uint64_t)d->rows), d->element);
	}
}

static uint32_t length_of(const struct run *r, enum wh_mg_array which)
{
	return which == WH_MG_WORK ? r->handle->devices : r->desc[which == WH_MG_B]->devices;
}

/*
 * Takes an array, whose length must be that of the worker's own object. A question looks at no
 * matrix, so an address that is none is NULL to it. So is one from which nothing is reached.
 */
static cusolverStatus_t take_array(struct wh_session *s, struct wh_frame *f, struct run *r,
				   enum wh_mg_array which)
{
	uint32_t i, count = r->q->count[which];
	void *array, **to = r->room[which];
	uint64_t bytes;

	if (!count)
		return CUSOLVER_STATUS_SUCCESS;
	if (!(wh_mg_arrays(r->q->op) & 1u << which) || count != length_of(r, which) ||
	    !wh_request_take(f, count, sizeof(uint64_t), &array))
		return CUSOLVER_STATUS_INVALID_VALUE;
	r->array[which] = memcpy(to, array, count * sizeof(*to));
	for (i = 0; i < count; i++) {
		bytes = reach_of(r, which, i);
		if (r->q->asks || !bytes) {
			if (wh_reach(s, (uintptr_t)to[i], 1) != CUDA_SUCCESS)
				to[i] = NULL;
		} else if (wh_reach(s, (uintptr_t)to[i], bytes) != CUDA_SUCCESS) {
			return CUSOLVER_STATUS_INVALID_VALUE;
		}
	}
	return CUSOLVER_STATUS_SUCCESS;
}

/*
 * The library's code on the CPU reads these, whatever else it is given. Where it asks for the size
 * of potrs and potri it crashes without them; of the others it needs none.
 */
static bool lacks(const struct run *r)
{
	const uint32_t has = wh_mg_arrays(r->q->op);

	if (r->q->asks && r->q->op != WH_MG_POTRS && r->q->op != WH_MG_POTRI)
		return r->array[WH_MG_WORK];
	return !r->array[WH_MG_A] || (has & 1u << WH_MG_B && !r->array[WH_MG_B]) ||
	       (!r->q->asks && !r->array[WH_MG_WORK]) || (r->q->asks && r->array[WH_MG_WORK]);
}

static cusolverStatus_t take_objects(struct wh_session *s, struct run *r)
{
	bool has_b = wh_mg_arrays(r->q->op) & 1u << WH_MG_B;

	r->handle = find(s, r->q->handle, WH_MG_HANDLE);
	if (!r->handle)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	r->desc[0] = find(s, r->q->desc[0], WH_MG_DESC);
	r->desc[1] = has_b ? find(s, r->q->desc[1], WH_MG_DESC) : NULL;
	/* Only the first call that selects devices lets a handle work on any. */
	return r->desc[0] && (!has_b || r->desc[1]) && r->handle->devices ?
	       CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

static cusolverStatus_t decode(struct wh_session *s, struct wh_frame *f, struct run *r)
{
	cusolverStatus_t res;
	int i;

	if (f->req_size < sizeof(*r->q) || r->q->op >= WH_MG_OPS || r->q->work < 0 ||
	    (!r->q->asks && !wh_type_size((cudaDataType)r->q->compute_type)))
		return CUSOLVER_STATUS_INVALID_VALUE;
	res = take_objects(s, r);
	f->pos = WH_WIRE_FIXED(*r->q);
	for (i = 0; i < WH_MG_ARRAYS && res == CUSOLVER_STATUS_SUCCESS; i++)
		res = take_array(s, f, r, (enum wh_mg_array)i);
	if (res != CUSOLVER_STATUS_SUCCESS)
		return res;
	return lacks(r) ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_SUCCESS;
}

/* Makes room for the eigenvalues, as many as the matrix that is solved has rows. */
static bool make_room(struct wh_frame *f, struct run *r)
{
	size_t size = wh_type_size((cudaDataType)r->q->value_type);

	if (r->q->op != WH_MG_SYEVD || r->q->asks)
		return !r->q->values;
	return r->q->values && r->q->n > 0 && size &&
	       wh_room(f, (size_t)r->q->n, size, &r->values);
}

/* --- Running --------------------------------------------------------------- */

/* The parts of a call that many have; the library is the judge of all numbers. */
#define HANDLE	r->handle->real
#define A	r->array[WH_MG_A], q->at[0], q->at[1], r->desc[0]->real
#define B	r->array[WH_MG_B], q->at[2], q->at[3], r->desc[1]->real
#define PIVOTS	(int **)r->array[WH_MG_PIVOTS]
#define TYPE	(cudaDataType)q->compute_type
#define FILL	(cublasFillMode_t)q->mode
#define EIGEN	(cusolverEigMode_t)q->vectors
#define WORK	r->array[WH_MG_WORK], q->work, &r->info

static cusolverStatus_t ask(const struct wh_cusolvermg_functions *l, struct run *r)
{
	const struct wh_req_whMgRun *q = r->q;
	double value[2];	/* where eigenvalues would be */

	switch (q->op) {
	case WH_MG_SYEVD:
		return l->cusolverMgSyevd_bufferSize(HANDLE, EIGEN, FILL, q->n, A, value,
						     (cudaDataType)q->value_type, TYPE, &r->work);
	case WH_MG_GETRF:
		return l->cusolverMgGetrf_bufferSize(HANDLE, q->m, q->n, A, PIVOTS, TYPE, &r->work);
	case WH_MG_GETRS:
		return l->cusolverMgGetrs_bufferSize(HANDLE, (cublasOperation_t)q->mode, q->n, q->m,
						     A, PIVOTS, B, TYPE, &r->work);
	case WH_MG_POTRF:
		return l->cusolverMgPotrf_bufferSize(HANDLE, FILL, q->n, A, TYPE, &r->work);
	case WH_MG_POTRS:
		return l->cusolverMgPotrs_bufferSize(HANDLE, FILL, q->n, q->m, A, B, TYPE,
						     &r->work);
	default:
		return l->cusolverMgPotri_bufferSize(HANDLE, FILL, q->n, A, TYPE, &r->work);
	}
}

static cusolverStatus_t operate(const struct wh_cusolvermg_functions *l, struct run *r)
{
	const struct wh_req_whMgRun *q = r->q;

	switch (q->op) {
	case WH_MG_SYEVD:
		return l->cusolverMgSyevd(HANDLE, EIGEN, FILL, q->n, A, r->values,
					  (cudaDataType)q->value_type, TYPE, WORK);
	case WH_MG_GETRF:
		return l->cusolverMgGetrf(HANDLE, q->m, q->n, A, PIVOTS, TYPE, WORK);
	case WH_MG_GETRS:
		return l->cusolverMgGetrs(HANDLE, (cublasOperation_t)q->mode, q->n, q->m, A, PIVOTS,
					  B, TYPE, WORK);
	case WH_MG_POTRF:
		return l->cusolverMgPotrf(HANDLE, FILL, q->n, A, TYPE, WORK);
	case WH_MG_POTRS:
		return l->cusolverMgPotrs(HANDLE, FILL, q->n, q->m, A, B, TYPE, WORK);
	default:
		return l->cusolverMgPotri(HANDLE, FILL, q->n, A, TYPE, WORK);
	}
}

static const char *lacking(const struct wh_cusolvermg_functions *l, const struct wh_req_whMgRun *q)
{
#define OP(kind, name) \
	[WH_MG_##kind] = { { (void *)l->cusolverMg##name, \
			     (void *)l->cusolverMg##name##_bufferSize }, "cusolverMg" #name }
	const struct {
		const void *function[2];
		const char *name;
	} op[WH_MG_OPS] = {
		OP(SYEVD, Syevd), OP(GETRF, Getrf), OP(GETRS, Getrs), OP(POTRF, Potrf),
		OP(POTRS, Potrs), OP(POTRI, Potri),
	};
#undef OP

	return op[q->op].function[!!q->asks] ? NULL : op[q->op].name;
}

/* Runs on the devices of handle and matrices, and waits for all of them. */
static int32_t run_waiting(struct wh_session *s, const struct wh_cusolvermg_functions *l,
			   struct run *r)
{
	const struct mg *on[] = { r->handle, r->desc[0], r->desc[1] };
	CUresult waited = CUDA_SUCCESS, one;
	CUcontext before;
	cusolverStatus_t res;
	size_t i;

	for (i = 0; i < sizeof(on) / sizeof(*on); i++)
		if (on[i] && !wh_several_may_run(s, on[i]->device, on[i]->devices))
			return wh_library_missing(s, "cuSOLVERMg under a share of SMs",
						  CUSOLVER_STATUS_NOT_SUPPORTED);
	one = wh_launch_begin(s, NULL);
	if (one != CUDA_SUCCESS)	/* from WH_RETRY on the call has to wait, see charge.h */
		return one >= WH_RETRY ? (int32_t)one : CUSOLVER_STATUS_EXECUTION_FAILED;
	before = wh_several_leave(s);
	res = operate(l, r);
	for (i = 0; i < sizeof(on) / sizeof(*on); i++) {
		one = on[i] ? wh_several_wait(s, on[i]->device, on[i]->devices) : CUDA_SUCCESS;
		waited = waited ? waited : one;
	}
	/* What measures the call is in its own context. */
	wh_several_back(s, before);
	wh_launch_end(s, NULL);
	wh_self.ctx = WH_CTX_UNKNOWN;
	return res == CUSOLVER_STATUS_SUCCESS && waited ? CUSOLVER_STATUS_EXECUTION_FAILED : res;
}

int32_t wh_do_whMgRun(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cusolvermg_functions *l = wh_library_functions(s, WH_LIB_cusolvermg);
	struct wh_rsp_whMgRun *a = wh_reply(f, sizeof(*a));
	struct run r = { .q = f->req, .info = UNTOLD };
	const char *missing;
	int32_t res;

	res = decode(s, f, &r);
	if (res != CUSOLVER_STATUS_SUCCESS)
		return res;
	missing = lacking(l, r.q);
	if (missing)
		return wh_library_missing(s, missing, CUSOLVER_STATUS_NOT_SUPPORTED);
	if (!make_room(f, &r))
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (r.q->asks) {
		res = ask(l, &r);
		wh_self.ctx = WH_CTX_UNKNOWN;
	} else {
		res = run_waiting(s, l, &r);
	}
	a->work = r.work;
	a->ran = r.info != UNTOLD;
	a->info = a->ran ? r.info : 0;
	return res;
}
