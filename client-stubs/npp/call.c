// SPDX-License-Identifier: Apache-2.0
/*
 * Forwards any function of NPP: sends registers and stack as they are, and what the function's
 * shape names in host memory (cuda-api/wire_table.h).
 */
#include "npp_stub.h"

#include "gen_npp_shapes.h"

NppStatus wh_npp_lost(CUresult res)
{
	switch (res) {
	case CUDA_ERROR_INVALID_VALUE:
		return NPP_BAD_ARGUMENT_ERROR;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return NPP_MEMORY_ALLOCATION_ERR;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_DEINITIALIZED:
	case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
	case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
		return NPP_CUDA_KERNEL_EXECUTION_ERROR;
	case CUDA_ERROR_NOT_SUPPORTED:
		return NPP_NOT_SUPPORTED_MODE_ERROR;
	default:
		return NPP_ERROR;
	}
}

int32_t wh_npp_refused(uint32_t number)
{
	wh_refuse(wh_npp_refused_names[number]);
	return NPP_NOT_SUPPORTED_MODE_ERROR;
}

/* A call's words as they are sent, and its addresses of host memory. */
struct words {
	uint64_t at[WH_TABLE_PLACES];
	void *host[WH_TABLE_PLACES];
	size_t in, out;		/* bytes behind the words, and in the response */
};

static bool is_host(const struct wh_table_arg *a)
{
	return a->kind == WH_TABLE_DEVICES || a->kind == WH_TABLE_IN || a->kind == WH_TABLE_OUT;
}

/* The program's stream may take a call of its own, so this comes before the request. */
static void read_words(struct words *w, const struct wh_table_shape *shape,
		       const struct wh_npp_saved *regs, const uint64_t *stack)
{
	const struct wh_table_arg *a = wh_npp_args + shape->first, *end = a + shape->args;

	memcpy(w->at, regs->integer, sizeof(regs->integer));
	memcpy(w->at + WH_TABLE_INTEGERS, stack, shape->words * sizeof(*stack));
	w->in = w->out = 0;
	for (; a < end; a++) {
		if (a->kind == WH_TABLE_STREAM)
			w->at[a->place] = wh_library_stream((CUstream)w->at[a->place]);
		if (!is_host(a))
			continue;
		w->host[a->place] = (void *)w->at[a->place];
		w->at[a->place] = !!w->host[a->place];
		if (!w->host[a->place])
			continue;
		if (a->kind == WH_TABLE_OUT)
			w->out += wh_wire_bytes(a->bytes, 1);
		else
			w->in += wh_wire_bytes(a->bytes, 1);
	}
}

static void put(struct wh_call *c, const struct wh_table_shape *shape, const struct words *w)
{
	const struct wh_table_arg *a = wh_npp_args + shape->first, *end = a + shape->args;

	c->pos = WH_WIRE_FIXED(struct wh_req_table);
	wh_request_put(c, w->at + WH_TABLE_INTEGERS, shape->words, sizeof(*w->at));
	for (; a < end; a++)
		if (is_host(a) && a->kind != WH_TABLE_OUT && w->host[a->place])
			wh_request_put(c, w->host[a->place], a->bytes, 1);
}

static void take(struct wh_call *c, const struct wh_table_shape *shape, const struct words *w)
{
	const struct wh_table_arg *a = wh_npp_args + shape->first, *end = a + shape->args;

	c->pos = WH_WIRE_FIXED(struct wh_rsp_table);
	for (; a < end; a++)
		if (a->kind == WH_TABLE_OUT && w->host[a->place])
			wh_reply_take(c, w->host[a->place], a->bytes, 1);
}

int32_t wh_npp_call(uint32_t number, const struct wh_npp_saved *regs, const uint64_t *stack)
{
	const struct wh_table_shape *shape = &wh_npp_shapes[wh_npp_shape[number]];
	struct wh_req_table *q;
	struct wh_call c;
	struct words w;
	int32_t res;

	read_words(&w, shape, regs, stack);
	q = wh_library_begin(&c, &wh_npp_library, WH_LIB_npp << WH_LIBRARY_SHIFT | number,
			     WH_WIRE_FIXED(struct wh_req_table) +
			     wh_wire_bytes(shape->words, sizeof(*stack)) + w.in);
	if (!q)
		return wh_npp_lost(c.result);
	memcpy(q->integer, w.at, sizeof(q->integer));
	memcpy(q->real, regs->real, sizeof(q->real));
	put(&c, shape, &w);
	if (wh_library_run(&c, WH_WIRE_FIXED(struct wh_rsp_table) + w.out)) {
		res = ((const struct wh_rsp *)c.rsp)->result;
		/* A warning is no error: what it writes is there. */
		if (res >= NPP_NO_ERROR)
			take(&c, shape, &w);
	} else {
		res = wh_npp_lost(c.result);
	}
	wh_end(&c);
	return res;
}
