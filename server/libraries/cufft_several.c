// SPDX-License-Identifier: Apache-2.0
/*
 * Plans of several GPUs in the worker. Owns the library's descriptors, which the client knows by a
 * number and a copy of what programs read. The memory that a descriptor has is charged device by
 * device. Host memory of the client's comes and goes in requests; the library is given a buffer of
 * the worker's own, which has room for all that the descriptor holds.
 */
#include "libraries/cufft_plan.h"
#include "libraries/several.h"
#include "limits/memory.h"

#include <stdlib.h>

struct desc {
	cudaLibXtDesc *real;
	struct plan *plan;
	uint64_t host;		/* bytes in host memory; 0: nobody knows, since there are gaps */
	uint64_t all;		/* bytes on all GPUs */
};

static struct desc *find(struct wh_session *s, uint64_t id)
{
	return wh_handles_get(&s->handles, id, WH_H_cufft_desc);
}

static cufftResult missing(struct wh_session *s, const char *what)
{
	return (cufftResult)wh_library_missing(s, what, CUFFT_NOT_SUPPORTED);
}

cufftResult wh_cufft_may_run(struct wh_session *s, const struct plan *p)
{
	if (wh_several_may_run(s, p->gpu, p->gpus))
		return CUFFT_SUCCESS;
	return missing(s, "cuFFT on several GPUs under a share of SMs");
}

cufftResult wh_cufft_sizes(struct wh_session *s, const struct wh_obj_cufftHandle *o, uint64_t count)
{
	const struct plan *p = wh_cufft_plan(s, o);

	if (!p)
		return CUFFT_INVALID_PLAN;
	if (count != (p->gpus ? p->gpus : 1))
		return CUFFT_INVALID_VALUE;
	return wh_cufft_may_run(s, p);
}

/* Enters the plan of a request, which must be a made one. */
static cufftResult enter(struct wh_session *s, const struct wh_cufft_functions *l,
			 const struct wh_obj_cufftHandle *o, struct plan **p)
{
	cufftHandle real;
	CUstream stream;
	cufftResult res;

	*p = wh_cufft_plan(s, o);
	if (!*p || !(*p)->made)
		return CUFFT_INVALID_PLAN;
	res = wh_cufft_may_run(s, *p);
	return res == CUFFT_SUCCESS ? wh_enter_cufftHandle(s, l, o, &real, &stream) : res;
}

/* --- Plans ----------------------------------------------------------------- */

/* A callback's arrays have one element for each GPU, and ours have one. */
static bool has_callbacks(const struct plan *p)
{
	int i;

	for (i = 0; i < TYPES; i++)
		if (p->callback[i])
			return true;
	return false;
}

static cufftResult set_gpus(struct wh_session *s, const struct wh_cufft_functions *l,
			    struct plan *p, int32_t *gpu, uint32_t count)
{
	struct wh_charge charge;
	cufftResult res;

	if (!wh_several_are_tenants(s, gpu, count))
		return CUFFT_INVALID_DEVICE;
	if (!wh_several_may_run(s, gpu, count))
		return missing(s, "cufftXtSetGPUs under a share of SMs");
	/* Each GPU gets the library's context, and is opened to the others. */
	wh_reconcile_begin(s, &charge);
	res = l->cufftXtSetGPUs(p->real, (int)count, gpu);
	wh_self.ctx = WH_CTX_UNKNOWN;
	if (res != CUFFT_SUCCESS)
		return res;
	/* The client counts these GPUs only if the call succeeds. */
	if (!wh_reconciled(s, &charge))
		return CUFFT_ALLOC_FAILED;
	p->gpus = count;
	memcpy(p->gpu, gpu, count * sizeof(*gpu));
	return CUFFT_SUCCESS;
}

int32_t wh_do_cufftXtSetGPUs(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	const struct wh_req_cufftXtSetGPUs *q = f->req;
	int32_t gpu[WH_CUFFT_GPUS];
	struct wh_charge unused;
	struct plan *p;
	void *from;
	cufftResult res;

	wh_reply(f, sizeof(struct wh_rsp));
	if (f->req_size < sizeof(*q))
		return CUFFT_INVALID_VALUE;
	if (!l->cufftXtSetGPUs)
		return missing(s, "cufftXtSetGPUs");
	p = wh_cufft_plan(s, &q->plan);
	f->pos = WH_WIRE_FIXED(*q);
	if (!p || p->made || has_callbacks(p))
		return CUFFT_INVALID_PLAN;
	if (!q->count || q->count > WH_CUFFT_GPUS ||
	    !wh_request_take(f, q->count, sizeof(*gpu), &from))
		return CUFFT_INVALID_VALUE;
	memcpy(gpu, from, q->count * sizeof(*gpu));
	res = set_gpus(s, l, p, gpu, q->count);
	/* A plan that takes too much is as it was before. */
	if (res == CUFFT_ALLOC_FAILED) {
		wh_cufft_unmake(s, l, &q->plan);
		wh_self.ctx = WH_CTX_UNKNOWN;
		wh_reconciled(s, &unused);
	}
	return res;
}

int32_t wh_do_whCufftAreas(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	const struct wh_req_whCufftAreas *q = f->req;
	void *area[WH_CUFFT_GPUS] = { NULL }, *from;
	cufftResult res;
	struct plan *p;
	uint32_t i;

	wh_reply(f, sizeof(struct wh_rsp));
	if (f->req_size < sizeof(*q))
		return CUFFT_INVALID_VALUE;
	if (!l->cufftXtSetWorkArea)
		return missing(s, "cufftXtSetWorkArea");
	res = enter(s, l, &q->plan, &p);
	if (res != CUFFT_SUCCESS)
		return res;
	f->pos = WH_WIRE_FIXED(*q);
	if (q->count != p->gpus || !q->count || !wh_request_take(f, q->count, sizeof(*area), &from))
		return CUFFT_INVALID_VALUE;
	memcpy(area, from, q->count * sizeof(*area));
	for (i = 0; i < q->count; i++)
		if (area[i] && wh_reach(s, (uintptr_t)area[i], p->work[i] ? p->work[i] : 1))
			return CUFFT_INVALID_VALUE;
	res = l->cufftXtSetWorkArea(p->real, area);
	wh_self.ctx = WH_CTX_UNKNOWN;
	return res;
}

/* --- Descriptors ----------------------------------------------------------- */

/* The key of a charge: no two living allocations begin at one address. */
static uint64_t key_of(const cudaXtDesc *d, int i)
{
	return (uintptr_t)d->data[i];
}

static void uncharge(struct wh_session *s, const cudaXtDesc *d, int count)
{
	while (count--)
		wh_uncharge(s, WH_H_cufft_desc, key_of(d, count));
}

/*
 * Does the driver's own figure have the memory already? Then wh_reconciled() charges it. To charge
 * it here as well would need room for it twice, since any charge may read the figure first.
 */
static bool is_seen(struct wh_session *s, int device)
{
	uint64_t unused;

	return s->limits.mem && device >= 0 && device < WH_TENANT_DEVICES &&
	       wh_mem_driver(s, device, &unused);
}

/* Charges each device with what the library took there. False: one of them has no room for it. */
static bool charge(struct wh_session *s, const cudaXtDesc *d)
{
	struct wh_charge c;
	int i;

	for (i = 0; i < d->nGPUs; i++) {
		if (!d->size[i] || is_seen(s, d->GPUs[i]))
			continue;
		if (wh_charge(s, &c, WH_H_cufft_desc, d->GPUs[i], d->size[i]) != CUDA_SUCCESS ||
		    wh_charged(s, &c, CUDA_SUCCESS, key_of(d, i), 0) != CUDA_SUCCESS) {
			uncharge(s, d, i);
			return false;
		}
	}
	return true;
}

/* Returns how many bytes of host memory a copy has: those of the side that the format is for. */
static uint64_t host_bytes(const struct plan *p, cufftXtSubFormat format)
{
	const struct extents *e = &p->reach;
	int side = e->side[WH_CUFFT_IN] >= e->side[WH_CUFFT_OUT] ? WH_CUFFT_IN : WH_CUFFT_OUT;

	if (format == CUFFT_XT_FORMAT_INPUT)
		side = WH_CUFFT_IN;
	else if (format == CUFFT_XT_FORMAT_OUTPUT)
		side = WH_CUFFT_OUT;
	return e->gaps[side] || e->side[side] > WH_CUFFT_HOST_MAX ? 0 : e->side[side];
}

static void show(const struct desc *d, uint64_t id, struct wh_cufft_desc *out)
{
	const cudaXtDesc *x = d->real->descriptor;
	int i;

	out->id = id;
	out->host = d->host;
	out->version = d->real->version;
	out->data_version = x->version;
	out->library = d->real->library;
	out->format = d->real->subFormat;
	out->count = (uint32_t)x->nGPUs;
	for (i = 0; i < x->nGPUs; i++) {
		out->gpu[i] = x->GPUs[i];
		out->data[i] = (uintptr_t)x->data[i];
		out->size[i] = x->size[i];
	}
}

/* Takes what the library has made into the books. False: there is no room for it. */
static bool keep(struct wh_session *s, struct desc *d, struct wh_charge *taken)
{
	const cudaXtDesc *x = d->real->descriptor;
	int i;

	if (x->nGPUs < 1 || x->nGPUs > WH_CUFFT_GPUS)
		return false;
	for (i = 0; i < x->nGPUs; i++)
		d->all += x->size[i];
	if (!charge(s, x))
		return false;
	if (wh_reconciled(s, taken))
		return true;
	uncharge(s, x, x->nGPUs);
	return false;
}

static cufftResult make(struct wh_session *s, const struct wh_cufft_functions *l, struct plan *p,
			cufftXtSubFormat format, struct wh_cufft_desc *out)
{
	struct desc *d = calloc(1, sizeof(*d));
	struct wh_charge taken;
	uint64_t id = 0;
	cufftResult res;

	if (!d)
		return CUFFT_ALLOC_FAILED;
	wh_reconcile_begin(s, &taken);
	res = l->cufftXtMalloc(p->real, &d->real, format);
	wh_self.ctx = WH_CTX_UNKNOWN;
	if (res == CUFFT_SUCCESS && (!d->real || !d->real->descriptor))
		res = CUFFT_INTERNAL_ERROR;
	if (res != CUFFT_SUCCESS) {
		free(d);
		return res;
	}
	d->plan = p;
	d->host = host_bytes(p, format);
	if (keep(s, d, &taken)) {
		id = wh_new(s, WH_H_cufft_desc, d, 0);
		if (!id)
			uncharge(s, d->real->descriptor, d->real->descriptor->nGPUs);
	}
	if (!id) {
		l->cufftXtFree(d->real);
		wh_reconciled(s, &taken);
		free(d);
		return CUFFT_ALLOC_FAILED;
	}
	p->users++;
	show(d, id, out);
	return CUFFT_SUCCESS;
}

int32_t wh_do_cufftXtMalloc(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	const struct wh_req_cufftXtMalloc *q = f->req;
	struct wh_rsp_cufftXtMalloc *r = wh_reply(f, sizeof(*r));
	struct plan *p;
	cufftResult res;

	if (f->req_size < sizeof(*q))
		return CUFFT_INVALID_VALUE;
	if (!l->cufftXtMalloc || !l->cufftXtFree)
		return missing(s, "cufftXtMalloc");
	res = enter(s, l, &q->plan, &p);
	return res == CUFFT_SUCCESS ? make(s, l, p, (cufftXtSubFormat)q->format, &r->desc) : res;
}

int32_t wh_do_cufftXtFree(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	const struct wh_req_cufftXtFree *q = f->req;
	struct wh_charge unused;
	cudaXtDesc was;
	struct desc *d;
	cufftResult res;

	wh_reply(f, sizeof(struct wh_rsp));
	if (f->req_size < sizeof(*q))
		return CUFFT_INVALID_VALUE;
	d = find(s, q->desc);
	if (!d)
		return CUFFT_INVALID_VALUE;
	was = *d->real->descriptor;
	res = l->cufftXtFree(d->real);
	wh_self.ctx = WH_CTX_UNKNOWN;
	if (res != CUFFT_SUCCESS)
		return res;
	uncharge(s, &was, was.nGPUs);
	wh_drop(s, q->desc);
	d->plan->users--;
	wh_cufft_plan_end(l, d->plan);
	free(d);
	/* What the driver's figure has less now is charged no more. */
	wh_reconciled(s, &unused);
	return CUFFT_SUCCESS;
}

/* --- Copies ---------------------------------------------------------------- */

struct copy {
	struct plan *plan;
	struct desc *to, *from;		/* NULL: host memory */
	void *in, *out;			/* in the request, and in the response */
	cufftXtCopyType type;
};

/* Finds both sides. Host memory is as long as the descriptor says. */
static cufftResult take_sides(struct wh_session *s, struct wh_frame *f, struct copy *k)
{
	const struct wh_req_cufftXtMemcpy *q = f->req;

	k->type = (cufftXtCopyType)q->type;
	k->to = k->type == CUFFT_COPY_DEVICE_TO_HOST ? NULL : find(s, q->to);
	k->from = k->type == CUFFT_COPY_HOST_TO_DEVICE ? NULL : find(s, q->from);
	f->pos = WH_WIRE_FIXED(*q);
	switch (k->type) {
	case CUFFT_COPY_HOST_TO_DEVICE:
		return k->to && k->to->host && q->bytes == k->to->host &&
		       wh_request_take(f, q->bytes, 1, &k->in) ?
		       CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
	case CUFFT_COPY_DEVICE_TO_HOST:
		return k->from && k->from->host && q->bytes == k->from->host &&
		       wh_room(f, q->bytes, 1, &k->out) ?
		       CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
	case CUFFT_COPY_DEVICE_TO_DEVICE:
		return k->to && k->from ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
	default:
		return CUFFT_INVALID_VALUE;
	}
}

static uint64_t most_of(const struct plan *p)
{
	const uint64_t *side = p->reach.side;

	return side[WH_CUFFT_IN] > side[WH_CUFFT_OUT] ? side[WH_CUFFT_IN] : side[WH_CUFFT_OUT];
}

/*
 * The library may go by the plan, not by the descriptor. Another plan than the one that made it may
 * be that of the way back, which is on the same GPUs and not larger.
 */
static bool fits(const struct plan *p, const struct desc *d)
{
	const struct plan *made = d->plan;

	return p == made || (p->gpus == made->gpus && most_of(p) <= most_of(made) &&
			     !memcmp(p->gpu, made->gpu, p->gpus * sizeof(*p->gpu)));
}

/*
 * The library says nowhere how many bytes it copies. It copies no more than the descriptor has, so
 * a buffer of that size keeps it off the worker's memory.
 */
static void *buffer_for(const struct copy *k)
{
	const struct desc *d = k->to ? k->to : k->from;
	void *buffer = calloc(1, d->all > d->host ? d->all : d->host);

	if (buffer && k->in)
		memcpy(buffer, k->in, d->host);
	return buffer;
}

/* Ends what began with the launch: the devices are done, and the call's own context is current. */
static CUresult finish(struct wh_session *s, const struct plan *p, CUcontext before)
{
	CUresult res = wh_several_wait(s, p->gpu, p->gpus);

	wh_several_back(s, before);
	wh_launch_end(s, NULL);
	wh_self.ctx = WH_CTX_UNKNOWN;
	return res;
}

/* Begins a call that works on all GPUs. Another result than success is the handler's. */
static int32_t begin(struct wh_session *s, CUcontext *before)
{
	CUresult res = wh_launch_begin(s, NULL);

	if (res != CUDA_SUCCESS)	/* from WH_RETRY on the call has to wait, see charge.h */
		return res >= WH_RETRY ? (int32_t)res : CUFFT_EXEC_FAILED;
	*before = wh_several_leave(s);
	return CUFFT_SUCCESS;
}

/* Waits, since the library may use the buffer until its GPUs are done. */
static int32_t copy(struct wh_session *s, const struct wh_cufft_functions *l, struct copy *k)
{
	void *buffer = k->in || k->out ? buffer_for(k) : NULL;
	CUcontext before = NULL;
	CUresult waited;
	int32_t res;

	if (!buffer && (k->in || k->out))
		return CUFFT_ALLOC_FAILED;
	res = begin(s, &before);
	if (res == CUFFT_SUCCESS) {
		res = l->cufftXtMemcpy(k->plan->real, k->to ? (void *)k->to->real : buffer,
				       k->from ? (void *)k->from->real : buffer, k->type);
		waited = finish(s, k->plan, before);
		if (res == CUFFT_SUCCESS && waited)
			res = CUFFT_EXEC_FAILED;
	}
	if (res == CUFFT_SUCCESS && k->out)
		memcpy(k->out, buffer, k->from->host);
	free(buffer);
	return res;
}

int32_t wh_do_cufftXtMemcpy(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	const struct wh_req_cufftXtMemcpy *q = f->req;
	struct wh_rsp_cufftXtMemcpy *r = wh_reply(f, sizeof(*r));
	struct copy k = { .plan = NULL };
	int32_t res;

	if (f->req_size < sizeof(*q))
		return CUFFT_INVALID_VALUE;
	if (!l->cufftXtMemcpy)
		return missing(s, "cufftXtMemcpy");
	res = enter(s, l, &q->plan, &k.plan);
	if (res == CUFFT_SUCCESS)
		res = take_sides(s, f, &k);
	if (res == CUFFT_SUCCESS && (k.in || k.out) && !fits(k.plan, k.to ? k.to : k.from))
		res = CUFFT_INVALID_VALUE;
	if (res == CUFFT_SUCCESS)
		res = copy(s, l, &k);
	if (res == CUFFT_SUCCESS && k.to)
		r->format = k.to->real->subFormat;
	return res;
}

/* --- Executions ------------------------------------------------------------ */

static cufftResult execute(const struct wh_cufft_functions *l, const struct wh_req_whCufftExec *q,
			   cufftHandle plan, cudaLibXtDesc *in, cudaLibXtDesc *out)
{
	switch (q->which) {
	case WH_CUFFT_C2C:
		return l->cufftXtExecDescriptorC2C(plan, in, out, q->direction);
	case WH_CUFFT_Z2Z:
		return l->cufftXtExecDescriptorZ2Z(plan, in, out, q->direction);
	case WH_CUFFT_R2C:
		return l->cufftXtExecDescriptorR2C(plan, in, out);
	case WH_CUFFT_C2R:
		return l->cufftXtExecDescriptorC2R(plan, in, out);
	case WH_CUFFT_D2Z:
		return l->cufftXtExecDescriptorD2Z(plan, in, out);
	case WH_CUFFT_Z2D:
		return l->cufftXtExecDescriptorZ2D(plan, in, out);
	default:
		return l->cufftXtExecDescriptor(plan, in, out, q->direction);
	}
}

static bool has(const struct wh_cufft_functions *l, uint32_t which)
{
	const void *const function[WH_CUFFT_EXECS] = {
		[WH_CUFFT_ANY] = (void *)l->cufftXtExecDescriptor,
		[WH_CUFFT_C2C] = (void *)l->cufftXtExecDescriptorC2C,
		[WH_CUFFT_Z2Z] = (void *)l->cufftXtExecDescriptorZ2Z,
		[WH_CUFFT_R2C] = (void *)l->cufftXtExecDescriptorR2C,
		[WH_CUFFT_C2R] = (void *)l->cufftXtExecDescriptorC2R,
		[WH_CUFFT_D2Z] = (void *)l->cufftXtExecDescriptorD2Z,
		[WH_CUFFT_Z2D] = (void *)l->cufftXtExecDescriptorZ2D,
	};

	return function[which];
}

/* Waits, too: nothing else says when work on GPUs of another context is done. */
static int32_t run(struct wh_session *s, const struct wh_cufft_functions *l, struct plan *p,
		   const struct wh_req_whCufftExec *q, struct wh_rsp_whCufftExec *r)
{
	struct desc *in = find(s, q->input), *out = find(s, q->output);
	CUcontext before = NULL;
	CUresult waited;
	int32_t res;

	if (!in || !out)
		return CUFFT_INVALID_VALUE;
	res = begin(s, &before);
	if (res != CUFFT_SUCCESS)
		return res;
	res = execute(l, q, p->real, in->real, out->real);
	waited = finish(s, p, before);
	r->format[0] = in->real->subFormat;
	r->format[1] = out->real->subFormat;
	return res == CUFFT_SUCCESS && waited ? CUFFT_EXEC_FAILED : res;
}

int32_t wh_do_whCufftExec(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cufft_functions *l = wh_library_functions(s, WH_LIB_cufft);
	const struct wh_req_whCufftExec *q = f->req;
	struct wh_rsp_whCufftExec *r = wh_reply(f, sizeof(*r));
	struct plan *p;
	cufftResult res;

	if (f->req_size < sizeof(*q) || q->which >= WH_CUFFT_EXECS)
		return CUFFT_INVALID_VALUE;
	if (!has(l, q->which))
		return missing(s, "cufftXtExecDescriptor");
	res = enter(s, l, &q->plan, &p);
	return res == CUFFT_SUCCESS ? run(s, l, p, q, r) : (int32_t)res;
}
