// SPDX-License-Identifier: Apache-2.0
/*
 * Plans of several GPUs. The library's memory on them is known to the program by a descriptor,
 * which it reads. The one that it gets is made here: addresses are the worker's, which are the
 * program's own, and devices have its numbers. The worker has the genuine one and looks it up by a
 * number, so a descriptor that the program has changed would say something else: it is refused.
 */
#include "cufft_stub.h"

#include <stdlib.h>

/* What the program reads, and the same as it was made. */
struct made {
	struct made *next;
	uint64_t id;		/* in the worker */
	uint64_t host;		/* bytes in host memory of all that it holds; 0: nobody knows */
	cudaLibXtDesc top, top_made;
	cudaXtDesc data, data_made;
};

static struct made *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
WH_IN_CHILD(pthread_mutex_init(&lock, NULL))

/* Returns NULL for a descriptor that is none, or that was changed. */
static struct made *find(const cudaLibXtDesc *d)
{
	struct made *m;

	pthread_mutex_lock(&lock);
	for (m = all; m && &m->top != d; m = m->next)
		;
	pthread_mutex_unlock(&lock);
	if (!m)
		return NULL;
	if (!memcmp(&m->top, &m->top_made, sizeof(m->top)) &&
	    !memcmp(&m->data, &m->data_made, sizeof(m->data)))
		return m;
	wh_refuse("cudaLibXtDesc that the program has changed");
	return NULL;
}

static void forget(struct made *m)
{
	struct made **at;

	pthread_mutex_lock(&lock);
	for (at = &all; *at && *at != m; at = &(*at)->next)
		;
	if (*at)
		*at = m->next;
	pthread_mutex_unlock(&lock);
	free(m);
}

static void set_format(struct made *m, int32_t format)
{
	m->top.subFormat = m->top_made.subFormat = format;
}

/* --- Plans ----------------------------------------------------------------- */

cufftResult cufftXtSetGPUs(cufftHandle handle, int nGPUs, int *whichGPUs)
{
	struct wh_req_cufftXtSetGPUs *q;
	struct wh_obj_cufftHandle o;
	int32_t real[WH_CUFFT_GPUS];
	struct wh_call c;
	cufftResult res;
	int i;

	if (!wh_pack_cufftHandle(handle, &o))
		return CUFFT_INVALID_PLAN;
	if (nGPUs < 1 || nGPUs > WH_CUFFT_GPUS || !whichGPUs)
		return CUFFT_INVALID_VALUE;
	q = wh_cufft_begin(&c, WH_CALL_cufftXtSetGPUs,
			   WH_WIRE_FIXED(*q) + wh_wire_bytes(nGPUs, sizeof(*real)));
	if (!q)
		return wh_cufft_lost(c.result);
	q->plan = o;
	q->count = nGPUs;
	for (i = 0; i < nGPUs; i++)
		real[i] = wh_library_device(whichGPUs[i]);
	c.pos = WH_WIRE_FIXED(*q);
	wh_request_put(&c, real, nGPUs, sizeof(*real));
	res = wh_cufft_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CUFFT_SUCCESS)
		wh_cufft_set_gpus(handle, nGPUs);
	return res;
}

/* With one GPU, the area travels with the next execution. */
cufftResult cufftXtSetWorkArea(cufftHandle plan, void **workArea)
{
	const uint32_t count = wh_cufft_gpus(plan);
	struct wh_req_whCufftAreas *q;
	struct wh_obj_cufftHandle o;
	struct wh_call c;
	cufftResult res;

	if (!workArea)
		return CUFFT_INVALID_VALUE;
	if (count < 2)
		return cufftSetWorkArea(plan, workArea[0]);
	if (!wh_pack_cufftHandle(plan, &o))
		return CUFFT_INVALID_PLAN;
	q = wh_cufft_begin(&c, WH_CALL_whCufftAreas,
			   WH_WIRE_FIXED(*q) + wh_wire_bytes(count, sizeof(uint64_t)));
	if (!q)
		return wh_cufft_lost(c.result);
	q->plan = o;
	q->count = count;
	c.pos = WH_WIRE_FIXED(*q);
	wh_request_put(&c, workArea, count, sizeof(uint64_t));
	res = wh_cufft_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

/* --- Descriptors ----------------------------------------------------------- */

static void fill(struct made *m, const struct wh_cufft_desc *d)
{
	uint32_t i;

	m->id = d->id;
	m->host = d->host;
	m->data = (cudaXtDesc) { .version = d->data_version, .nGPUs = d->count };
	for (i = 0; i < d->count; i++) {
		m->data.GPUs[i] = wh_profile_device(d->gpu[i]);
		m->data.data[i] = (void *)d->data[i];
		m->data.size[i] = d->size[i];
	}
	m->top = (cudaLibXtDesc) {
		.version = d->version, .descriptor = &m->data, .library = (libFormat)d->library,
		.subFormat = d->format,
	};
	/* Padding is compared, too. */
	memcpy(&m->data_made, &m->data, sizeof(m->data));
	memcpy(&m->top_made, &m->top, sizeof(m->top));
}

cufftResult cufftXtMalloc(cufftHandle plan, cudaLibXtDesc **descriptor, cufftXtSubFormat format)
{
	const struct wh_rsp_cufftXtMalloc *r;
	struct wh_req_cufftXtMalloc *q;
	struct wh_obj_cufftHandle o;
	struct wh_call c;
	cufftResult res;
	struct made *m;

	if (!descriptor)
		return CUFFT_INVALID_VALUE;
	if (!wh_pack_cufftHandle(plan, &o))
		return CUFFT_INVALID_PLAN;
	m = calloc(1, sizeof(*m));
	q = m ? wh_cufft_begin(&c, WH_CALL_cufftXtMalloc, sizeof(*q)) : NULL;
	if (!q) {
		free(m);
		return m ? wh_cufft_lost(c.result) : CUFFT_ALLOC_FAILED;
	}
	q->plan = o;
	q->format = format;
	res = wh_cufft_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUFFT_SUCCESS)
		fill(m, &r->desc);
	wh_end(&c);
	if (res != CUFFT_SUCCESS) {
		free(m);
		return res;
	}
	pthread_mutex_lock(&lock);
	m->next = all;
	all = m;
	pthread_mutex_unlock(&lock);
	*descriptor = &m->top;
	return CUFFT_SUCCESS;
}

cufftResult cufftXtFree(cudaLibXtDesc *descriptor)
{
	struct wh_req_cufftXtFree *q;
	struct made *m;
	struct wh_call c;
	cufftResult res;

	if (!descriptor)
		return CUFFT_SUCCESS;
	m = find(descriptor);
	if (!m)
		return CUFFT_INVALID_VALUE;
	q = wh_cufft_begin(&c, WH_CALL_cufftXtFree, sizeof(*q));
	if (!q)
		return wh_cufft_lost_end(c.result);
	q->desc = m->id;
	res = wh_cufft_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CUFFT_SUCCESS)
		forget(m);
	return res;
}

/* --- Copies ---------------------------------------------------------------- */

struct copy {
	struct made *to, *from;		/* NULL: host memory */
	void *host_to;
	const void *host_from;
	size_t bytes;			/* of host memory */
};

static cufftResult run_copy(cufftHandle plan, const struct copy *k, cufftXtCopyType type)
{
	size_t in = k->host_from ? k->bytes : 0, out = k->host_to ? k->bytes : 0;
	struct wh_req_cufftXtMemcpy *q;
	struct wh_obj_cufftHandle o;
	struct wh_call c;
	cufftResult res;

	if (!wh_pack_cufftHandle(plan, &o))
		return CUFFT_INVALID_PLAN;
	q = wh_cufft_begin_long(&c, WH_CALL_cufftXtMemcpy,
				wh_wire_more(WH_WIRE_FIXED(*q), wh_wire_bytes(in, 1)),
				wh_wire_more(WH_WIRE_FIXED(struct wh_rsp_cufftXtMemcpy),
					     wh_wire_bytes(out, 1)));
	if (!q)
		return wh_cufft_lost(c.result);
	q->plan = o;
	q->to = k->to ? k->to->id : 0;
	q->from = k->from ? k->from->id : 0;
	q->bytes = k->bytes;
	q->type = type;
	c.pos = WH_WIRE_FIXED(*q);
	if (in)
		wh_request_put(&c, k->host_from, in, 1);
	res = wh_cufft_run(&c, sizeof(struct wh_rsp_cufftXtMemcpy));
	if (res == CUFFT_SUCCESS) {
		const struct wh_rsp_cufftXtMemcpy *r = c.rsp;
		int32_t format = r->format;

		c.pos = WH_WIRE_FIXED(*r);
		if (out)
			wh_reply_take(&c, k->host_to, out, 1);
		if (k->to)
			set_format(k->to, format);
	}
	wh_end(&c);
	return res;
}

cufftResult cufftXtMemcpy(cufftHandle plan, void *dstPointer, void *srcPointer,
			  cufftXtCopyType type)
{
	struct copy k = { .bytes = 0 };

	if (type != CUFFT_COPY_DEVICE_TO_HOST)
		k.to = find(dstPointer);
	if (type != CUFFT_COPY_HOST_TO_DEVICE)
		k.from = find(srcPointer);
	switch (type) {
	case CUFFT_COPY_HOST_TO_DEVICE:
		k.host_from = srcPointer;
		k.bytes = k.to ? k.to->host : 0;
		break;
	case CUFFT_COPY_DEVICE_TO_HOST:
		k.host_to = dstPointer;
		k.bytes = k.from ? k.from->host : 0;
		break;
	case CUFFT_COPY_DEVICE_TO_DEVICE:
		if (k.to && k.from)
			return run_copy(plan, &k, type);
		/* fallthrough */
	default:
		return CUFFT_INVALID_VALUE;
	}
	if (!(k.to || k.from) || !(k.host_to || k.host_from))
		return CUFFT_INVALID_VALUE;
	if (!k.bytes)
		return wh_cufft_refuse("cufftXtMemcpy of a layout with gaps");
	return run_copy(plan, &k, type);
}

/* --- Executions ------------------------------------------------------------ */

static cufftResult execute(cufftHandle plan, const cudaLibXtDesc *input,
			   const cudaLibXtDesc *output, int direction, enum wh_cufft_exec which)
{
	struct made *in = find(input), *out = find(output);
	const struct wh_rsp_whCufftExec *r;
	struct wh_req_whCufftExec *q;
	struct wh_obj_cufftHandle o;
	struct wh_call c;
	cufftResult res;

	if (!wh_pack_cufftHandle(plan, &o))
		return CUFFT_INVALID_PLAN;
	if (!in || !out)
		return CUFFT_INVALID_VALUE;
	q = wh_cufft_begin(&c, WH_CALL_whCufftExec, sizeof(*q));
	if (!q)
		return wh_cufft_lost(c.result);
	q->plan = o;
	q->input = in->id;
	q->output = out->id;
	q->direction = direction;
	q->which = which;
	res = wh_cufft_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUFFT_SUCCESS) {
		/* The order of the elements is another one afterwards. */
		set_format(in, r->format[0]);
		set_format(out, r->format[1]);
	}
	wh_end(&c);
	return res;
}

cufftResult cufftXtExecDescriptor(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output,
				  int direction)
{
	return execute(plan, input, output, direction, WH_CUFFT_ANY);
}

cufftResult cufftXtExecDescriptorC2C(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output,
				     int direction)
{
	return execute(plan, input, output, direction, WH_CUFFT_C2C);
}

cufftResult cufftXtExecDescriptorZ2Z(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output,
				     int direction)
{
	return execute(plan, input, output, direction, WH_CUFFT_Z2Z);
}

cufftResult cufftXtExecDescriptorR2C(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output)
{
	return execute(plan, input, output, 0, WH_CUFFT_R2C);
}

cufftResult cufftXtExecDescriptorC2R(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output)
{
	return execute(plan, input, output, 0, WH_CUFFT_C2R);
}

cufftResult cufftXtExecDescriptorD2Z(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output)
{
	return execute(plan, input, output, 0, WH_CUFFT_D2Z);
}

cufftResult cufftXtExecDescriptorZ2D(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output)
{
	return execute(plan, input, output, 0, WH_CUFFT_Z2D);
}
