/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver and libraries that do whatever they are told, and each call's request as the
 * descriptions define it. The request is right but for one field, so a refusal is due to
 * that field.
 */
#ifndef WORMHOLE_TESTS_ATTACK_TOLD_H
#define WORMHOLE_TESTS_ATTACK_TOLD_H

#include "session_fixture.h"

#include "gen_libraries_server.h"

#include "requests.h"
#include "session/held.h"

/* The address has 32 bits, because addresses of CUDA 3.1 have no more. */
#define DEVICE		0x40000000ULL
#define DEVICE_SIZE	0x1000ULL
/* A device that is not the tenant's; the tenant has device number 1. */
#define ANOTHERS	2

#include "one_range.h"

static int reached;
static char own[64] = "the worker's own";	/* lies below 4 GiB: no PIE */

/* --- A driver and libraries that do what they are told ------------------------------ */

static int any(void)
{
	reached++;
	return 0;
}

/* Makes an object, of which the worker then has a handle. */
static int makes(void **object)
{
	reached++;
	*object = (void *)0x770;
	return 0;
}

static int quiet(void)
{
	return 0;
}

static cublasStatus_t host_mode(cublasHandle_t h, cublasPointerMode_t *mode)
{
	(void)h;
	*mode = CUBLAS_POINTER_MODE_HOST;
	return CUBLAS_STATUS_SUCCESS;
}

static cudnnStatus_t dims(const cudnnTensorDescriptor_t d, int want, cudnnDataType_t *type, int *n,
			  int dim[], int stride[])
{
	(void)d;
	(void)want;
	(void)stride;
	*type = CUDNN_DATA_FLOAT;
	*n = 2;
	dim[0] = dim[1] = 1;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t steps(const cudnnSeqDataDescriptor_t d, cudnnDataType_t *type, int *n,
			   int want, int dim[], cudnnSeqDataAxis_t axes[], size_t *lengths,
			   size_t room, int length[], void *fill)
{
	int i;

	(void)d; (void)type; (void)n; (void)axes; (void)lengths; (void)room; (void)length;
	(void)fill;
	for (i = 0; i < want; i++)
		dim[i] = 1;
	return CUDNN_STATUS_SUCCESS;
}

/* Is this a function of cuSPARSE whose first parameter receives the new object? */
static bool makes_one(const char *name)
{
	static const char begins[] = "cusparseCreate";

	return !strncmp(name, begins, sizeof(begins) - 1) && strcmp(name, "cusparseCreateIdentityPermutation");
}

static void *table(const struct wh_library *lib)
{
	const struct wh_library_symbol *sym;
	void *t = calloc(1, lib->table_size);

	for (sym = lib->symbols; sym->name; sym++)
		*(void **)((char *)t + sym->offset) = makes_one(sym->name) ? (void *)makes : any;
	return t;
}

static void fill(struct wh_session *s)
{
	struct wh_cublas_functions *b;
	struct wh_cudnn_functions *n;
	struct wh_cusparselt_functions *t;
	const struct wh_driver_symbol *d;
	uint32_t i;

	for (i = 0; i < WH_LIBS; i++)
		s->library_file[0][i].functions = s->library[i] =
			wh_libraries[i] ? table(wh_libraries[i]) : NULL;
	b = s->library[WH_LIB_cublas];
	n = s->library[WH_LIB_cudnn];
	t = s->library[WH_LIB_cusparselt];
	for (d = wh_driver_symbols; d->name; d++)
		*(void **)((char *)&s->drv + d->offset) = any;
	s->drv.cuPointerGetAttributes = attributes;
	s->drv.cuCtxSetCurrent = (void *)quiet;
	s->drv.cuCtxGetDevice = (void *)quiet;
	s->drv.cuMemHostRegister_v2 = (void *)quiet;
	s->drv.cuStreamIsCapturing = NULL;
	s->drv.cuStreamGetCaptureInfo_v2 = (void *)quiet;
	b->cublasGetPointerMode_v2 = host_mode;
	n->cudnnGetTensorNdDescriptor = dims;
	n->cudnnGetSeqDataDescriptor = steps;
	t->cusparseLtMatmulGetWorkspace = (void *)quiet;
}

/* --- Requests ------------------------------------------------------------------------ */

/* The numbers of the objects, by their type in the worker's table. */
static uint64_t context, object[256];

static int32_t ask(struct wh_session *s, uint32_t library, uint32_t number, size_t size)
{
	struct wh_req *q = msg(s);

	q->call = number;
	q->ctx = context;
	reached = 0;
	return wh_dispatch_slot(s, 0, library ? WH_HANDLER_LIBRARY : WH_HANDLER_CUDA, size) ?
	       -1 : rsp(s)->result;
}

/* Makes an object by the library's own call; its number is the first field of the response. */
static void make_object(struct wh_session *s, uint32_t library, uint32_t call, unsigned int type)
{
	request(s, 0, 64);
	ask(s, library, call, 64);
	memcpy(&object[type], rsp(s) + 1, sizeof(*object));
}

static void make_objects(struct wh_session *s)
{
	struct wh_req_cufftMakePlan1d *plan;

	context = wh_new(s, WH_H_CUcontext, (void *)0x1000, 0);
	make_object(s, WH_LIB_cublas, WH_CALL_cublasCreate_v2, WH_H_cublasHandle_t);
	make_object(s, WH_LIB_curand, WH_CALL_curandCreateGenerator, WH_H_curandGenerator_t);
	make_object(s, WH_LIB_cudnn, WH_CALL_cudnnCreate, WH_H_cudnnHandle_t);
	make_object(s, WH_LIB_cufft, WH_CALL_cufftCreate, WH_H_cufftHandle);
	plan = request(s, 0, sizeof(*plan));
	plan->plan.id = object[WH_H_cufftHandle];
	plan->nx = 8;
	plan->type = CUFFT_C2C;
	plan->batch = 1;
	plan->workSize_count = 1;
	ask(s, WH_LIB_cufft, WH_CALL_cufftMakePlan1d, sizeof(*plan));
	object[WH_H_cublasLtHandle_t] = wh_handle_for(s, WH_H_cublasLtHandle_t, (void *)0x5000, 0);
	make_object(s, WH_LIB_cusparse, WH_CALL_cusparseCreate, WH_H_cusparseHandle_t);
	make_object(s, WH_LIB_cusolver, WH_CALL_cusolverDnCreate, WH_H_cusolverDnHandle_t);
	make_object(s, WH_LIB_cusolver, WH_CALL_cusolverSpCreate, WH_H_cusolverSpHandle_t);
	make_object(s, WH_LIB_cusolver, WH_CALL_cusolverRfCreate, WH_H_cusolverRfHandle_t);
}

/*
 * Puts an object with one of a library's structs into the worker's table; the struct is
 * as large as any.
 */
static uint64_t box(struct wh_session *s, unsigned int type)
{
	return wh_box_put(s, type, wh_box_new(512), false);
}

static void put(uint8_t *at, uint64_t value, uint32_t bytes)
{
	memcpy(at, &value, bytes);
}

/*
 * Builds the request with addresses in device memory and the tenant's devices, but for
 * the field of kind `what` with the number `wrong`.
 */
static void build(struct wh_session *s, const struct call *c, enum what what, int wrong)
{
	uint8_t *q = request(s, 0, c->size + 64);
	const struct field *f;
	bool now;
	int n = 0;

	for (f = c->field; f < c->field + c->fields; f++) {
		now = f->what == what && n++ == wrong;
		switch (f->what) {
		case ADDRESS:
			put(q + f->at, now ? (uintptr_t)own : DEVICE, f->bytes);
			break;
		case ORDINAL:
			put(q + f->at, now ? ANOTHERS : f->value, f->bytes);
			break;
		case WORD:
			put(q + f->at, f->value, f->bytes);
			break;
		case HANDLE:
			put(q + f->at, f->value == WH_H_CUcontext ? context :
			    wh_handle_for(s, f->value, (void *)(0x1000 + f->value * 16), 0), 8);
			break;
		case HOST:
			put(q + f->at, (uintptr_t)s->data, f->bytes);
			break;
		case TEXT:
			memcpy(q + f->at, TEXT_SENT, sizeof(TEXT_SENT));
			break;
		case BOX:
			put(q + f->at, box(s, f->value), 8);
			break;
		case OBJECT:
			put(q + f->at, object[f->value], 8);
			if (c->library == WH_LIB_cublas)
				((struct wh_obj_cublasHandle_t *)(q + f->at))->pointer_mode =
					CUBLAS_POINTER_MODE_DEVICE;
			if (c->library == WH_LIB_cusparse)
				((struct wh_obj_cusparseHandle_t *)(q + f->at))->pointer_mode =
					CUSPARSE_POINTER_MODE_DEVICE;
			break;
		}
	}
}

static int count(const struct call *c, enum what what)
{
	size_t i;
	int n = 0;

	for (i = 0; i < c->fields; i++)
		n += c->field[i].what == what;
	return n;
}

/* Returns the first object of a library in the request, or 0. */
static uint64_t handle_in(struct wh_session *s, const struct call *c)
{
	const struct field *f;
	uint64_t id = 0;

	for (f = c->field; f < c->field + c->fields && !id; f++)
		if (f->what == HANDLE)
			memcpy(&id, (uint8_t *)msg(s) + f->at, sizeof(id));
	return id;
}

/*
 * Did the request, with one field wrong, come through? It did not if its object, or the
 * object that it made, only keeps an address and has nothing in the address's place
 * (server/session/held.h).
 */
static bool comes_through(struct wh_session *s, const struct call *c, int32_t *res)
{
	uint64_t id = handle_in(s, c);
	unsigned int i;

	*res = ask(s, c->library, c->number, c->size);
	if (!id)
		memcpy(&id, rsp(s) + 1, sizeof(id));
	if (wh_held_reach(s, id))
		return reached || !*res;
	/* Other calls use the same object, so its held addresses are removed. */
	for (i = 0; i < WH_HELD; i++)
		wh_hold(s, id, i, 0, 0);
	return false;
}

/* Tests each call of a library. `what` is ADDRESS or ORDINAL. */
static void each_call(struct wh_session *s, uint32_t library, enum what what, const char *wanted,
		      const char *refused)
{
	const char *good = what == ADDRESS ? "device memory" : "the tenant's device";
	const char *bad = what == ADDRESS ? "the worker's memory" : "another's device";
	const struct call *c;
	int i, sent = 0, passed = 0, right = 0, n = 0;
	bool through;
	int32_t res;

	for (c = calls; c < calls + sizeof(calls) / sizeof(*c); c++) {
		if (c->library != library || !count(c, what))
			continue;
		n++;
		build(s, c, what, -1);
		res = ask(s, library, c->number, c->size);
		right += reached && !res;
		if (!reached || res)
			diag("%s with %s: %s, result %d", c->name, good,
			     reached ? "arrived" : "did not arrive", res);
		for (i = 0; i < count(c, what); i++, sent++) {
			build(s, c, what, i);
			through = comes_through(s, c, &res);
			passed += through;
			if (through)
				diag("%s with %s as number %d: %s, result %d", c->name, bad, i,
				     reached ? "arrived" : "did not arrive", res);
		}
	}
	diag("%d %s in %d calls", sent, what == ADDRESS ? "addresses" : "devices", n);
	ok(n && right == n, wanted);
	ok(!passed, refused);
}

static struct wh_req_whGraphNode *node(struct wh_session *s, uint32_t op, CUgraphNodeType type)
{
	struct wh_req_whGraphNode *q = request(s, 0, sizeof(*q) + 64);

	q->op = op;
	q->graph = op == WH_NODE_EXEC ? wh_handle_for_new(s, WH_H_CUgraphExec, (void *)0x2000, 0) :
					wh_handle_for(s, WH_H_CUgraph, (void *)0x2010, 0);
	q->node = wh_handle_for(s, WH_H_CUgraphNode, (void *)0x2020, 0);
	q->params.type = type;
	return q;
}

#endif
