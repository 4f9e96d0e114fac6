/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes requests for any call of any library: words at random with living handles strewn
 * in. Half of the objects, and of the structs that a call has of its own, are as they
 * should be.
 */
#ifndef WORMHOLE_TESTS_LIB_LIBRARY_REQUESTS_H
#define WORMHOLE_TESTS_LIB_LIBRARY_REQUESTS_H

#include "nccl_requests.h"
#include "stand_ins.h"
#include "table_requests.h"

/* Objects of the driver that requests of libraries name. */
static uint64_t library_context, library_memory, library_stream;

/* Communicators of NCCL that exist, or have existed. */
#define COMMS	4
static uint64_t library_comm[COMMS];

/* These calls have structs of their own, which half of the time are made as they should be. */
static const uint32_t library_structured[] = {
	WH_CALL_whNcclGroup, WH_CALL_cudnnBackendExecute, WH_CALL_cublasLtMatmul,
	WH_CALL_cublasLtMatmulAlgoGetHeuristic, WH_CALL_cublasLtMatmulAlgoCheck,
	WH_CALL_whNvjpegBatch,
};

/* Sends what is in the message area. Returns 0 if it was taken. */
static int64_t ask(struct wh_session *s, uint32_t call, size_t size);

/* Makes objects of all libraries, as far as possible. */
static void make_handles(struct wh_session *s)
{
	struct wh_rsp_cublasCreate_v2 *b = msg(s);
	struct wh_rsp_curandCreateGenerator *r = msg(s);
	struct wh_rsp_cudnnCreate *c = msg(s);
	struct wh_rsp_cufftCreate *f = msg(s);
	struct wh_rsp_cusparseCreate *p = msg(s);
	struct wh_req_cusparseCreateDnVec *d;
	struct wh_rsp_cusparseCreateDnVec *made = msg(s);
	struct wh_rsp_cusolverDnCreate *v = msg(s);
	unsigned int type;

	request(s, 0, 64);
	if (!ask(s, WH_CALL_cublasCreate_v2,
			sizeof(struct wh_req_cublasCreate_v2)) && !b->hdr.result)
		keep_handle(b->handle.id);
	request(s, 0, 64);
	if (!ask(s, WH_CALL_curandCreateGeneratorHost,
			sizeof(struct wh_req_curandCreateGenerator)) &&
	    !r->hdr.result)
		keep_handle(r->generator);
	keep_handle(library_stream);
	request(s, 0, 64);
	if (!ask(s, WH_CALL_cudnnCreate, sizeof(struct wh_req_cudnnCreate)) && !c->hdr.result)
		keep_handle(c->handle);
	request(s, 0, 64);
	if (!ask(s, WH_CALL_cufftCreate, sizeof(struct wh_req_cufftCreate)) && !f->hdr.result)
		keep_handle(f->plan);
	type = WH_H_cusparseLtHandle_t + next() % (WH_H_cusparselt_END - WH_H_cusparseLtHandle_t);
	keep_handle(wh_box_put(s, type, wh_box_new(sizeof(cusparseLtMatmulPlan_t)),
			       next() % 2));
	/* An object that the library never looks into may have any value. */
	type = WH_H_cudnnHandle_t + 1 + next() % (WH_H_cudnn_END - WH_H_cudnnHandle_t - 1);
	keep_handle(wh_handle_for(s, type, (void *)0x7770, 0));
	keep_handle(wh_handle_for(s, WH_H_cudnnBackendDescriptor_t, (void *)0x7780, 0));
	keep_handle(wh_handle_for(s, WH_H_cublasLtHandle_t, (void *)0x7790, 0));
	keep_handle(wh_handle_for(s, WH_H_nvmlDevice_t, (void *)0x8880, 0));
	request(s, 0, 64);
	if (!ask(s, WH_CALL_cusparseCreate, sizeof(struct wh_req_cusparseCreate)) && !p->hdr.result)
		keep_handle(p->handle);
	d = request(s, 0, sizeof(*d));
	d->values = next() % 4 ? (uintptr_t)s->data : next();
	if (!ask(s, WH_CALL_cusparseCreateDnVec, sizeof(*d)) && !made->hdr.result)
		keep_handle(made->dnVecDescr);
	type = WH_H_cusparseHandle_t + 1 + next() % (WH_H_cusparse_END - WH_H_cusparseHandle_t - 1);
	keep_handle(wh_handle_for(s, type, (void *)0x6670, 0));
	/*
	 * The handles are for dense, for sparse and for refactorization, each followed by the
	 * types of its information.
	 */
	type = WH_H_cusolverDnHandle_t + next() % (WH_H_cusolver_END - WH_H_cusolverDnHandle_t);
	if (type > WH_H_cusolverRfHandle_t) {
		keep_handle(wh_handle_for(s, type, (void *)0x6680, 0));
		return;
	}
	request(s, 0, 64);
	if (!ask(s, type == WH_H_cusolverDnHandle_t ? WH_CALL_cusolverDnCreate :
		    type == WH_H_cusolverSpHandle_t ? WH_CALL_cusolverSpCreate :
						      WH_CALL_cusolverRfCreate,
		 sizeof(struct wh_req_cusolverDnCreate)) && !v->hdr.result)
		keep_handle(v->handle);
}

/* Half of cublasLt's descriptors have possible values; the other half has any bits and sizes. */
static void lt_descriptors(struct wh_session *s, uint32_t call)
{
	struct wh_req_cublasLtQuestion *w = msg(s);
	struct wh_req_cublasLtMatmul *m = msg(s);
	unsigned int i;

	if (next() % 2)
		return;
	if (call == WH_CALL_cublasLtMatmul) {
		struct wh_lt_matmul d = wh_lt_new_matmul();
		struct wh_lt_layout l = wh_lt_new_layout();
		uint8_t *out;

		d.head.set = next() & 0x3fffffff;
		l.head.set = next() & 0x1f;
		out = wh_lt_pack(WH_LT_MATMUL, &d, (uint8_t *)(m + 1));
		for (i = 0; i < 4; i++)
			out = wh_lt_pack(WH_LT_LAYOUT, &l, out);
		memset(&m->a, 0, 5 * sizeof(m->a));
		m->stream = 0;
	} else if (call == WH_CALL_cublasLtMatmulAlgoGetHeuristic ||
		   call == WH_CALL_cublasLtMatmulAlgoCheck) {
		w->wanted = next() % (WH_LT_MOST_RESULTS + 2);
		w->algos = next() % 3;
		w->preference.head.set &= 0xff;
		for (i = 0; i < 4; i++)
			w->layout[i].head.set &= 0x1f;
	}
}

/* Half of the executions bring a pack that is as long as it says. */
static void packs(struct wh_session *s, uint32_t call)
{
	struct wh_req_cudnnBackendExecute *q = msg(s);
	uint64_t *w = (uint64_t *)((uint8_t *)q + WH_WIRE_FIXED(*q));
	uint32_t i;

	if (call != WH_CALL_cudnnBackendExecute || next() % 2)
		return;
	q->pack = q->plan = q->workspace = 0;
	q->pointers = next() % 2 ? next() % 16 : next() % (WH_CUDNN_POINTERS + 2);
	q->values = next() % 2 ? 0 : next() % (q->pointers + 2);
	for (i = 0; i < (q->pointers + 1) / 2 * 4; i++)
		w[i] = 0;
	for (i = 0; i < q->values; i++)
		w[(q->pointers + 1) / 2 * 4 + i * 4] = next() % (q->pointers + 1);
}

/* Half of NCCL's groups hold operations on existing memory. Returns the size of the request. */
static size_t groups(struct wh_session *s, uint32_t call, size_t size)
{
	struct nccl_writer w;
	uint32_t i, n = 1 + next() % 4;

	if (call != WH_CALL_whNcclGroup || next() % 2)
		return size;
	w = nccl_begin(s, n);
	w.q->together = next() % 2;
	for (i = 0; i < n; i++)
		nccl_random_op(&w, &w.op[i], library_context,
			       next() % 16 ? library_comm[next() % COMMS] : any_handle(),
			       library_memory);
	return w.more - (uint8_t *)w.q;
}

/* The communicators that a group has made can be named from now on. */
static void keep_made(struct wh_session *s, uint32_t call)
{
	const struct wh_rsp_whNcclGroup *r = msg(s);
	const uint64_t *id = (const uint64_t *)((const uint8_t *)r + WH_WIRE_FIXED(*r));
	uint32_t i;

	for (i = 0; call == WH_CALL_whNcclGroup && !r->hdr.result && i < r->made && i < 64; i++)
		library_comm[next() % COMMS] = id[i];
}

/* Most requests of NPP name existing memory and are as long as they say. Returns the size. */
static size_t tables(struct wh_session *s, uint32_t call, size_t size)
{
	struct wh_req_table *q = msg(s);
	struct table_call t;

	if (call >> WH_LIBRARY_SHIFT != WH_LIB_npp || call == WH_CALL_whNppVersion || !(next() % 4))
		return size;
	table_addresses(q, call & ((1u << WH_LIBRARY_SHIFT) - 1), library_memory, &t);
	if (t.addresses && !(next() % 8)) {
		uint64_t any = fuzz_word(s);

		memcpy(t.address[next() % t.addresses], &any, sizeof(any));
	}
	return t.size;
}

/* Half of nvJPEG's batches have as many small pictures as they say. Returns the size. */
static size_t pictures(struct wh_session *s, uint32_t call, size_t size)
{
	struct wh_req_whNvjpegBatch *q = msg(s);
	uint64_t *lengths = (uint64_t *)((uint8_t *)q + WH_WIRE_FIXED(*q));
	nvjpegImage_t *image;
	uint32_t i, n;

	if (call != WH_CALL_whNvjpegBatch || next() % 2)
		return size;
	n = q->count = 1 + next() % 4;
	q->handle = any_handle();
	q->state = any_handle();
	q->stream = 0;
	q->ex = 0;
	image = (nvjpegImage_t *)((uint8_t *)lengths + wh_wire_bytes(n, sizeof(*lengths)));
	for (i = 0; i < n; i++) {
		lengths[i] = next() % 32;
		memset(&image[i], 0, sizeof(image[i]));
		image[i].channel[next() % 4] = (void *)(uintptr_t)library_memory;
	}
	return (uint8_t *)(image + n) - (uint8_t *)q + n * 32;
}

/* Makes a request for this call in the message area. Returns its size. */
static size_t library_request(struct wh_session *s, uint32_t library, uint32_t call)
{
	size_t size = fuzz_fill(s, wh_libraries[library]->calls[call].min_size);
	struct wh_req *q = msg(s);
	uint64_t *w = msg(s);

	/* Objects come first: half of them are real ones, with a plausible state. */
	if (next() % 2) {
		w[sizeof(*q) / 8] = any_handle();
		w[sizeof(*q) / 8 + 1] = 0;
		((struct wh_obj_cublasHandle_t *)(q + 1))->pointer_mode = next() % 2;
		if (library == WH_LIB_cusparse)
			((struct wh_obj_cusparseHandle_t *)(q + 1))->pointer_mode = next() % 2;
	}
	lt_descriptors(s, library << WH_LIBRARY_SHIFT | call);
	packs(s, library << WH_LIBRARY_SHIFT | call);
	size = groups(s, library << WH_LIBRARY_SHIFT | call, size);
	size = tables(s, library << WH_LIBRARY_SHIFT | call, size);
	size = pictures(s, library << WH_LIBRARY_SHIFT | call, size);
	q->null = next() % 4 ? 0 : next();
	q->ctx = 0;
	q->capture_mode = 0;
	q->number = next() % 64 ? 0 : 1;
	return size;
}

#endif
