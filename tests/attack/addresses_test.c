// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises, for every address in every request of the descriptions, that memory
 * of the worker's own is refused before a driver or a library hears of it. The driver
 * here does whatever it is told, and knows one range of device memory. Each request is
 * first sent with an address in that range and must reach the driver, so a later refusal
 * is due to the address. Requests that are made by hand follow.
 */
#include "told.h"

#include "../lib/table_requests.h"

static uint8_t own_room[64 << 10];	/* as much as a message area */

/* --- By hand ----------------------------------------------------------------------------- */

/*
 * Sends the request twice: with *address in device memory it must arrive, with the
 * worker's memory it must not.
 */
static void twice(struct wh_session *s, uint32_t library, uint32_t number, size_t size,
		  uint64_t *address, const char *name)
{
	uint8_t *copy = malloc(size);
	bool arrived;
	int32_t res, bad;

	*address = DEVICE;
	memcpy(copy, msg(s), size);
	res = ask(s, library, number, size);
	arrived = reached;
	memcpy(msg(s), copy, size);
	*address = (uintptr_t)own;
	bad = ask(s, library, number, size);
	if (!ok(arrived && !res && !reached && bad, name))
		diag("device memory: %d, %d; the worker's: %d, %d", arrived, res, reached, bad);
	free(copy);
}

static void test_copies(struct wh_session *s)
{
	struct wh_req_whStageCopy *c;
	struct wh_req_whSmallIn *small;
	struct wh_req_cuPointerGetAttribute *p;

	c = request(s, 0, sizeof(*c));
	c->host = (uintptr_t)s->data;
	c->size = 64;
	twice(s, 0, WH_CALL_whStageCopy, sizeof(*c), &c->device, "staged_copy_to_it");
	c = request(s, 0, sizeof(*c));
	c->host = (uintptr_t)s->data;
	c->size = 64;
	c->kind = WH_COPY_TO_HOST;
	twice(s, 0, WH_CALL_whStageCopy, sizeof(*c), &c->device, "staged_copy_from_it");
	small = request(s, 0, sizeof(*small) + 64);
	small->size = 64;
	twice(s, 0, WH_CALL_whSmallIn, sizeof(*small) + 64, &small->device, "small_copy_to_it");
	small = request(s, 0, sizeof(*small) + 64);
	small->size = 64;
	small->async = 1;
	twice(s, 0, WH_CALL_whSmallIn, sizeof(*small) + 64, &small->device,
	      "small_copy_in_a_stream");
	p = request(s, 0, sizeof(*p));
	p->attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
	twice(s, 0, WH_CALL_cuPointerGetAttribute, sizeof(*p), &p->ptr, "attribute_of_it");
}

static struct wh_req_whGraphNode *copy_node(struct wh_session *s, uint32_t op)
{
	struct wh_req_whGraphNode *q = node(s, op, CU_GRAPH_NODE_TYPE_MEMCPY);
	CUDA_MEMCPY3D *c = &q->params.memcpy.copyParams;

	c->srcMemoryType = c->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	c->WidthInBytes = 64;
	c->Height = c->Depth = 1;
	c->srcDevice = c->dstDevice = DEVICE;
	return q;
}

static void test_nodes(struct wh_session *s)
{
	static const char *const way[] = { "made", "changed", "changed_where_it_runs" };
	struct wh_req_whGraphNode *q;
	CUstreamBatchMemOpParams *op;
	char name[64];
	uint32_t i;

	for (i = WH_NODE_ADD; i <= WH_NODE_EXEC; i++) {
		q = copy_node(s, i);
		snprintf(name, sizeof(name), "copy_node_from_it_%s", way[i]);
		twice(s, 0, WH_CALL_whGraphNode, sizeof(*q),
		      (uint64_t *)&q->params.memcpy.copyParams.srcDevice, name);
		q = copy_node(s, i);
		snprintf(name, sizeof(name), "copy_node_to_it_%s", way[i]);
		twice(s, 0, WH_CALL_whGraphNode, sizeof(*q),
		      (uint64_t *)&q->params.memcpy.copyParams.dstDevice, name);
		q = node(s, i, CU_GRAPH_NODE_TYPE_MEMSET);
		q->params.memset.elementSize = 4;
		q->params.memset.width = 16;
		q->params.memset.height = 1;
		snprintf(name, sizeof(name), "fill_node_%s", way[i]);
		twice(s, 0, WH_CALL_whGraphNode, sizeof(*q),
		      (uint64_t *)&q->params.memset.dst, name);
		q = node(s, i, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
		q->bytes = sizeof(*op);
		q->params.memOp.count = 1;
		op = (void *)((uint8_t *)q + FIXED(*q));
		op->operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
		snprintf(name, sizeof(name), "write_node_%s", way[i]);
		twice(s, 0, WH_CALL_whGraphNode, FIXED(*q) + sizeof(*op),
		      (uint64_t *)&op->writeValue.address, name);
	}
}

/* Makes a request with one tensor, and no address yet. */
static struct wh_req_cudnnBackendExecute *executed(struct wh_session *s)
{
	struct wh_req_cudnnBackendExecute *e = request(s, 0, FIXED(*e) + 32);

	e->handle.id = object[WH_H_cudnnHandle_t];
	e->plan = wh_handle_for(s, WH_H_cudnnBackendDescriptor_t, (void *)0x3020, 0);
	e->pointers = 1;
	return e;
}

static void test_libraries(struct wh_session *s)
{
	struct wh_req_cudnnBackendExecute *e;
	struct wh_req_cublasSasum_v2 *b;
	struct wh_req_whCurandGenerate *r;
	struct wh_req_cudnnFusedParam *f;
	struct wh_req_cudnnAttribute *a;
	struct wh_req_cufftExecC2C *x;

	b = request(s, 0, sizeof(*b));
	b->handle.id = object[WH_H_cublasHandle_t];
	b->handle.own_workspace = 1;
	b->handle.workspace_size = DEVICE_SIZE;
	twice(s, WH_LIB_cublas, WH_CALL_cublasSasum_v2, sizeof(*b), &b->handle.workspace,
	      "workspace_of_cublas");
	r = request(s, 0, sizeof(*r));
	r->generator.id = object[WH_H_curandGenerator_t];
	r->count = 16;
	twice(s, WH_LIB_curand, WH_CALL_whCurandGenerate, sizeof(*r), &r->out, "random_numbers");
	f = request(s, 0, sizeof(*f));
	f->pack = wh_handle_for(s, WH_H_cudnnFusedOpsVariantParamPack_t, (void *)0x3000, 0);
	f->label = CUDNN_PTR_XDATA;
	twice(s, WH_LIB_cudnn, WH_CALL_cudnnSetFusedOpsVariantParamPackAttribute, sizeof(*f),
	      &f->value, "parameter_of_fused_operations");
	x = request(s, 0, sizeof(*x));
	x->plan.id = object[WH_H_cufftHandle];
	x->plan.own_area = 1;
	x->idata = x->odata = DEVICE;
	twice(s, WH_LIB_cufft, WH_CALL_cufftExecC2C, sizeof(*x), &x->plan.work_area,
	      "work_area_of_cufft");
	x = request(s, 0, sizeof(*x));
	x->plan.id = object[WH_H_cufftHandle];
	x->idata = DEVICE + DEVICE_SIZE - 64;
	x->odata = DEVICE + DEVICE_SIZE - 63;
	ok(ask(s, WH_LIB_cufft, WH_CALL_cufftExecC2C, sizeof(*x)) == CUFFT_INVALID_VALUE &&
	   !reached, "execution_of_cufft_past_the_end_of_its_output");
	a = request(s, 0, FIXED(*a) + 8);
	a->descriptor = wh_handle_for(s, WH_H_cudnnBackendDescriptor_t, (void *)0x3010, 0);
	a->name = CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS;
	a->type = CUDNN_TYPE_VOID_PTR;
	a->count = 1;
	twice(s, WH_LIB_cudnn, WH_CALL_cudnnBackendSetAttribute, FIXED(*a) + 8,
	      (uint64_t *)((uint8_t *)a + FIXED(*a)), "pointer_of_a_variant_pack");
	e = executed(s);
	twice(s, WH_LIB_cudnn, WH_CALL_cudnnBackendExecute, FIXED(*e) + 32,
	      (uint64_t *)((uint8_t *)e + FIXED(*e) + 16), "pointer_of_a_pack_that_is_executed");
	e = executed(s);
	e->hdr.null = WH_CUDNN_WORKSPACE;
	twice(s, WH_LIB_cudnn, WH_CALL_cudnnBackendExecute, FIXED(*e) + 32, &e->workspace,
	      "workspace_of_a_pack_that_is_executed");
}

/*
 * Sends a library's request that lies elsewhere, at `at`; the request in the message area
 * says where.
 */
static int32_t ask_long(struct wh_session *s, const struct call *c, uint64_t at)
{
	struct wh_req_long *q;

	build(s, c, ADDRESS, -1);
	q = msg(s);
	q->hdr.call = c->number;
	q->hdr.ctx = context;
	memcpy(s->data, q, c->size);
	memcpy(own_room, q, c->size);
	*q = (struct wh_req_long) {
		.hdr = q->hdr, .at = at, .size = c->size, .room = sizeof(own_room),
	};
	reached = 0;
	return wh_dispatch_slot(s, 0, WH_HANDLER_LONG, sizeof(*q)) ? -1 : rsp(s)->result;
}

static void test_long(struct wh_session *s)
{
	const struct call *c = calls;
	int32_t res, bad;
	bool arrived;

	while (c->library != WH_LIB_cusolver || !count(c, ADDRESS))
		c++;
	res = ask_long(s, c, (uintptr_t)s->data);
	arrived = reached;
	bad = ask_long(s, c, (uintptr_t)own_room);
	ok(arrived && !res && bad && !reached, "long_request_of_a_library");
}

/* --- cublasLt: descriptors with addresses inside, as they come ------------------------------- */

static struct wh_lt_matmul product_desc;
static struct wh_lt_layout product_layout[4];
static struct wh_lt_emulation product_emulation;
static struct wh_req_cublasLtMatmul *product;

/* Makes a product of matrices of 8 x 8 floats, in which every attribute that can be set is set. */
static void new_product(struct wh_session *s)
{
	unsigned int i;

	product = request(s, 0, sizeof(*product) + 1024);
	product->handle.id = object[WH_H_cublasLtHandle_t];
	product_desc = wh_lt_new_matmul();
	product_desc.head.set = 0x7fffffff;
	product_desc.pointer_mode = CUBLASLT_POINTER_MODE_DEVICE;
	product_desc.scale = CUDA_R_32F;
	product_desc.emulation = 1;
	product_emulation = wh_lt_new_emulation();
	product_emulation.head.set = 0x3f;
	for (i = 0; i < 4; i++) {
		product_layout[i] = wh_lt_new_layout();
		product_layout[i].type = CUDA_R_32F;
		product_layout[i].rows = product_layout[i].cols = product_layout[i].ld = 8;
	}
}

static bool multiplied(struct wh_session *s)
{
	uint8_t *out = wh_lt_pack(WH_LT_MATMUL, &product_desc, (uint8_t *)(product + 1));
	unsigned int i;

	for (i = 0; i < 4; i++)
		out = wh_lt_pack(WH_LT_LAYOUT, &product_layout[i], out);
	out = wh_lt_pack(WH_LT_EMULATION, &product_emulation, out);
	return !ask(s, WH_LIB_cublaslt, WH_CALL_cublasLtMatmul, out - (uint8_t *)product) &&
	       reached;
}

/* Returns the address with number @i of a product. */
static uint64_t *address(unsigned int i)
{
	uint64_t *const at[] = {
		&product->a, &product->b, &product->c, &product->d, &product->workspace,
		&product->alpha.device, &product->beta.device, &product_desc.bias,
		&product_desc.aux, &product_desc.a_scale, &product_desc.b_scale,
		&product_desc.c_scale, &product_desc.d_scale, &product_desc.amax_d,
		&product_desc.aux_scale, &product_desc.aux_amax, &product_desc.d_out_scale,
		&product_emulation.bit_count,
	};

	return i < sizeof(at) / sizeof(*at) ? at[i] : NULL;
}

static void test_products(struct wh_session *s)
{
	unsigned int i, arrived = 0, refused = 0;

	for (i = 0, new_product(s); address(i); i++, new_product(s)) {
		*address(i) = DEVICE;
		arrived += multiplied(s);
		new_product(s);
		*address(i) = (uintptr_t)own;
		refused += !multiplied(s) && !reached;
	}
	ok_eq(arrived, i, "each_address_of_a_product_may_be_device_memory");
	ok_eq(refused, i, "and_none_the_workers_own");
	new_product(s);
	product->a = DEVICE + DEVICE_SIZE - 8 * 8 * sizeof(float);
	ok(multiplied(s), "matrix_may_end_with_its_memory");
	new_product(s);
	product->a = DEVICE + DEVICE_SIZE - 8 * 8 * sizeof(float);
	product_layout[0].ld = 9;
	ok(!multiplied(s) && !reached, "and_not_behind_it");
	new_product(s);
	product_desc.pointer_mode = CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST + 1;
	ok(!multiplied(s) && !reached, "pointer_mode_that_nobody_knows_is_refused");
}

static uint64_t told_bias;

static cublasStatus_t see_bias(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attr,
			       const void *value, size_t size)
{
	(void)d;
	if (attr == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
		memcpy(&told_bias, value, size);
	return CUBLAS_STATUS_SUCCESS;
}

static void test_transforms(struct wh_session *s)
{
	struct wh_cublaslt_functions *l = s->library[WH_LIB_cublaslt];
	const struct wh_lt_transform desc = { .head.set = 7, .scale = CUDA_R_32F,
					      .pointer_mode = CUBLASLT_POINTER_MODE_DEVICE };
	struct wh_req_cublasLtMatrixTransform *q;
	struct wh_req_cublasLtQuestion *w;
	unsigned int i, arrived = 0, refused = 0;
	uint64_t address;

	for (i = 0; i < 10; i++) {
		address = i % 2 ? DEVICE : (uintptr_t)own;
		q = request(s, 0, sizeof(*q) + 64);
		q->handle.id = object[WH_H_cublasLtHandle_t];
		q->hdr.null = 7 * WH_LT_NO_LAYOUT;
		wh_lt_pack(WH_LT_TRANSFORM, &desc, (uint8_t *)(q + 1));
		put((uint8_t *)(i / 2 == 0 ? &q->a : i / 2 == 1 ? &q->b : i / 2 == 2 ? &q->c :
				i / 2 == 3 ? &q->alpha.device : &q->beta.device), address, 8);
		if (ask(s, WH_LIB_cublaslt, WH_CALL_cublasLtMatrixTransform, sizeof(*q) + 64))
			refused += !(i % 2) && !reached;
		else
			arrived += i % 2 && reached;
	}
	ok(arrived == 5 && refused == 5, "so_are_those_of_a_transformation");

	l->cublasLtMatmulDescSetAttribute = see_bias;
	w = request(s, 0, sizeof(*w));
	w->handle.id = object[WH_H_cublasLtHandle_t];
	w->wanted = 1;
	w->desc.bias = (uintptr_t)own;
	for (i = 0; i < wh_lt_attributes[WH_LT_MATMUL].entries; i++)
		if (wh_lt_matmul_entries[i].attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
			w->desc.head.set = 1u << (i - wh_lt_attributes[WH_LT_MATMUL].given);
	ask(s, WH_LIB_cublaslt, WH_CALL_cublasLtMatmulAlgoGetHeuristic, sizeof(*w));
	ok(reached && told_bias && told_bias <= 256, "address_in_a_question_leads_nowhere");
}

/*
 * Uses an attribute that holds an address. The address was the client's when it was set;
 * a plan of it then makes a product.
 */
static bool kept_arrives(struct wh_session *s, uint64_t address)
{
	struct wh_req_cusparseLtMatmul *m = request(s, 0, sizeof(*m));
	void *product = wh_box_new(512), *plan = wh_box_new(512);

	wh_box_put(s, WH_H_cusparseLtMatmulDescriptor_t, product, true);
	wh_box_keeps(product, 6, address);
	wh_box_needs(plan, product);
	m->handle = box(s, WH_H_cusparseLtHandle_t);
	m->plan = wh_box_put(s, WH_H_cusparseLtMatmulPlan_t, plan, false);
	return !ask(s, WH_LIB_cusparselt, WH_CALL_cusparseLtMatmul, sizeof(*m)) && reached;
}

static cusparseStatus_t refuse_attribute(const cusparseLtHandle_t *h,
					 cusparseLtMatmulDescriptor_t *m,
					 cusparseLtMatmulDescAttribute_t attribute,
					 const void *data, size_t size)
{
	(void)h, (void)m, (void)attribute, (void)data, (void)size;
	return CUSPARSE_STATUS_INVALID_VALUE;
}

static int32_t set_bias(struct wh_session *s, uint64_t matmul, uint64_t address)
{
	struct wh_req_cusparseLtMatmulDescSetAttribute *t = request(s, 0, FIXED(*t) + 16);

	t->handle = box(s, WH_H_cusparseLtHandle_t);
	t->matmulDescr = matmul;
	t->matmulAttribute = CUSPARSELT_MATMUL_BIAS_POINTER;
	t->dataSize = 8;
	memcpy((uint8_t *)t + FIXED(*t), &address, sizeof(address));
	return ask(s, WH_LIB_cusparselt, WH_CALL_cusparseLtMatmulDescSetAttribute, FIXED(*t) + 8);
}

/*
 * A refused address leaves the library with the first address. That memory then ends, and
 * a product must be refused.
 */
static void test_refused_bias(struct wh_session *s)
{
	struct wh_cusparselt_functions *l = s->library[WH_LIB_cusparselt];
	void *takes = (void *)l->cusparseLtMatmulDescSetAttribute;
	void *product = wh_box_new(512), *plan = wh_box_new(512);
	uint64_t matmul = wh_box_put(s, WH_H_cusparseLtMatmulDescriptor_t, product, true), of;
	struct wh_req_cusparseLtMatmul *m;
	int32_t res;

	wh_box_needs(plan, product);
	of = wh_box_put(s, WH_H_cusparseLtMatmulPlan_t, plan, false);
	wh_reaches(s, DEVICE + DEVICE_SIZE, 0x100);
	res = set_bias(s, matmul, DEVICE + DEVICE_SIZE);
	l->cusparseLtMatmulDescSetAttribute = refuse_attribute;
	set_bias(s, matmul, DEVICE);
	l->cusparseLtMatmulDescSetAttribute = takes;
	wh_reach_frees(s, DEVICE + DEVICE_SIZE);
	m = request(s, 0, sizeof(*m));
	m->handle = box(s, WH_H_cusparseLtHandle_t);
	m->plan = of;
	ok(!res && ask(s, WH_LIB_cusparselt, WH_CALL_cusparseLtMatmul, sizeof(*m)) && !reached,
	   "address_that_the_library_refused_stands_for_no_other");
}

/* A product of sparse matrices has seven addresses, one of which may be an attribute. */
static void test_sparse_products(struct wh_session *s)
{
	static const char *const name[] = { "a", "b", "c", "d", "workspace", "alpha", "beta" };
	struct wh_req_cusparseLtMatmulDescSetAttribute *t;
	struct wh_req_cusparseLtMatmul *m;
	char text[64];
	int i;

	for (i = 0; i < 7; i++) {
		m = request(s, 0, sizeof(*m));
		m->handle = box(s, WH_H_cusparseLtHandle_t);
		m->plan = box(s, WH_H_cusparseLtMatmulPlan_t);
		m->streams = 1;
		snprintf(text, sizeof(text), "%s_of_a_sparse_product", name[i]);
		twice(s, WH_LIB_cusparselt, i % 2 ? WH_CALL_cusparseLtMatmul :
						    WH_CALL_cusparseLtMatmulSearch, sizeof(*m),
		      (uint64_t *[]){ &m->a, &m->b, &m->c, &m->d, &m->workspace, &m->alpha.device,
				      &m->beta.device }[i], text);
	}
	t = request(s, 0, FIXED(*t) + 8);
	t->handle = box(s, WH_H_cusparseLtHandle_t);
	t->matmulDescr = box(s, WH_H_cusparseLtMatmulDescriptor_t);
	t->matmulAttribute = CUSPARSELT_MATMUL_BIAS_POINTER;
	t->dataSize = 8;
	twice(s, WH_LIB_cusparselt, WH_CALL_cusparseLtMatmulDescSetAttribute, FIXED(*t) + 8,
	      (uint64_t *)((uint8_t *)t + FIXED(*t)), "bias_of_a_sparse_product");
	ok(kept_arrives(s, DEVICE) && !kept_arrives(s, (uintptr_t)own),
	   "what_is_kept_for_a_plan_is_looked_at_with_each_product");
}

static bool holds_addresses(uint64_t type)
{
	return type == WH_H_cusparseDnVecDescr_t || type == WH_H_cusparseDnMatDescr_t ||
	       type == WH_H_cusparseSpVecDescr_t || type == WH_H_cusparseSpMatDescr_t;
}

/*
 * Makes the call with an object that holds an address, which was the client's when the
 * object was made.
 */
static bool held_arrives(struct wh_session *s, const struct call *c, const struct field *f,
			 uint32_t place, uint64_t address, uint64_t kept)
{
	uint64_t id;
	bool arrives;

	build(s, c, ADDRESS, -1);
	memcpy(&id, msg(s) + f->at, sizeof(id));
	wh_hold(s, id, place, address, kept);
	arrives = !ask(s, c->library, c->number, c->size) && reached;
	wh_hold(s, id, place, 0, 0);
	return arrives;
}

static bool asks_sizes(const struct call *c)
{
	const char *end = strstr(c->name, "_bufferSize");

	return end && !end[strlen("_bufferSize")];
}

/* Tests each place of each object that a call of cuSPARSE reads. */
static void test_held(struct wh_session *s)
{
	const uint64_t mine = (uintptr_t)own;
	int arrived = 0, refused = 0, sized = 0, n = 0;
	const struct call *c;
	const struct field *f;
	uint32_t place;

	wh_held_room(s);
	for (c = calls; c < calls + sizeof(calls) / sizeof(*c); c++)
		for (f = c->field; f < c->field + c->fields; f++) {
			if (c->library != WH_LIB_cusparse || f->what != HANDLE ||
			    !holds_addresses(f->value) || !count(c, OBJECT))
				continue;
			for (place = 0; place < WH_HELD; place++, n++) {
				arrived += held_arrives(s, c, f, place, DEVICE, DEVICE);
				refused += !held_arrives(s, c, f, place, mine, mine);
				sized += held_arrives(s, c, f, place, DEVICE, WH_HELD_NOTHING) ==
					 asks_sizes(c);
			}
		}
	diag("%d places", n);
	ok(n > 200 && arrived == n, "what_a_descriptor_holds_is_read_while_it_is_the_clients");
	ok_eq(refused, n, "and_by_no_call_when_it_is_so_no_more");
	ok_eq(sized, n, "one_that_has_nothing_there_is_asked_for_sizes_alone");
}

/* Options of the compiler are numbers, or addresses that the driver follows. */
static int32_t load_with(struct wh_session *s, uint32_t option)
{
	struct wh_req_whUpload *u = request(s, 0, sizeof(*u));
	struct wh_jit_option *o;
	struct wh_image_part *part;
	struct wh_req_load *q;

	memcpy(s->data, ".version 8.0", 13);
	u->total = u->size = 13;
	u->addr = (uintptr_t)s->data;
	ask(s, 0, WH_CALL_whUpload, sizeof(*u));
	q = request(s, 0, FIXED(*q) + PADDED(sizeof(*part)) + sizeof(*o));
	part = (void *)((uint8_t *)q + FIXED(*q));
	o = (void *)((uint8_t *)part + PADDED(sizeof(*part)));
	q->parts = q->options = 1;
	part->size = 13;
	o->option = option;
	o->value = (uintptr_t)own;
	return ask(s, 0, WH_CALL_cuModuleLoadDataEx, (uint8_t *)(o + 1) - (uint8_t *)q);
}

static void test_options(struct wh_session *s)
{
	ok(!load_with(s, CU_JIT_MAX_REGISTERS) && reached, "option_that_is_a_number_arrives");
	ok(load_with(s, CU_JIT_GLOBAL_SYMBOL_ADDRESSES) && !reached,
	   "option_that_is_an_address_does_not");
	ok(load_with(s, CU_JIT_NUM_OPTIONS) && !reached, "nor_does_one_that_nobody_knows");
}

static int32_t launch_with(struct wh_session *s, CUlaunchAttributeID id)
{
	size_t size = FIXED(struct wh_req_whLaunch) + PADDED(sizeof(CUlaunchAttribute));
	struct wh_req_whLaunch *q = request(s, 0, size);
	CUlaunchAttribute *a = (void *)((uint8_t *)q + FIXED(*q));

	q->function = wh_handle_for(s, WH_H_CUfunction, (void *)0x4000, 0);
	q->attrs = 1;
	a->id = id;
	return ask(s, 0, WH_CALL_whLaunch, size);
}

static void test_attributes(struct wh_session *s)
{
	ok(!launch_with(s, CU_LAUNCH_ATTRIBUTE_PRIORITY) && reached,
	   "launch_attribute_that_is_a_number_arrives");
	ok(launch_with(s, WH_LAST_LAUNCH_ATTRIBUTE + 1) && !reached,
	   "one_that_nobody_knows_does_not");
}

/* --- Ranges ------------------------------------------------------------------------------- */

static int32_t fill_bytes(struct wh_session *s, uint64_t at, uint64_t bytes)
{
	struct wh_req_cuMemsetD8_v2 *q = request(s, 0, sizeof(*q));

	q->dstDevice = at;
	q->N = bytes;
	return ask(s, 0, WH_CALL_cuMemsetD8_v2, sizeof(*q));
}

static void test_ranges(struct wh_session *s)
{
	struct wh_req_cuMemFree_v2 *free_it;

	ok(!fill_bytes(s, DEVICE, DEVICE_SIZE) && reached, "memory_is_filled_to_its_end");
	ok(fill_bytes(s, DEVICE + 1, DEVICE_SIZE) && !reached, "and_no_further");
	ok(fill_bytes(s, DEVICE, UINT64_MAX) && !reached, "size_that_wraps_is_refused");
	ok(!fill_bytes(s, (uintptr_t)own, 0) && reached, "no_bytes_are_the_drivers_to_judge");
	ok(!fill_bytes(s, (uintptr_t)s->data + 8, 8) && reached, "data_area_is_the_clients");
	ok(fill_bytes(s, (uintptr_t)s->data + s->data_size - 4, 8) && !reached,
	   "what_follows_the_data_area_is_not");
	/*
	 * The two ranges lie side by side: one was allocated, the other is known to the driver
	 * alone.
	 */
	wh_reaches(s, DEVICE + DEVICE_SIZE, 0x100);
	ok(!fill_bytes(s, DEVICE + 8, DEVICE_SIZE) && reached, "ranges_side_by_side_are_one");
	ok(fill_bytes(s, DEVICE + 8, DEVICE_SIZE + 0x100) && !reached, "to_the_end_of_the_last");
	free_it = request(s, 0, sizeof(*free_it));
	free_it->dptr = DEVICE + DEVICE_SIZE;
	ask(s, 0, WH_CALL_cuMemFree_v2, sizeof(*free_it));
	ok(fill_bytes(s, DEVICE + DEVICE_SIZE, 1) && !reached, "freed_memory_is_forgotten");
	wh_reaches(s, DEVICE + DEVICE_SIZE, 0x100);
	wh_reaches_graph(s, DEVICE + 2 * DEVICE_SIZE, 0x100);
	wh_reach_frees(s, DEVICE + 2 * DEVICE_SIZE);
	ok(!fill_bytes(s, DEVICE + 2 * DEVICE_SIZE, 0x100) && reached,
	   "memory_of_a_graph_stays_for_its_next_launch");
	request(s, 0, 64);
	ask(s, 0, WH_CALL_cuCtxDestroy_v2, sizeof(struct wh_req_cuCtxDestroy_v2));
	ok(fill_bytes(s, DEVICE + DEVICE_SIZE, 1) && !reached &&
	   fill_bytes(s, DEVICE + 2 * DEVICE_SIZE, 1) && !reached,
	   "all_memory_ends_with_a_context");
	ok_eq(fill_bytes(s, (uintptr_t)own, 1), CUDA_ERROR_INVALID_VALUE,
	      "error_is_that_of_an_address_that_is_none");
	context = 0;
	ok_eq(fill_bytes(s, (uintptr_t)own, 1), CUDA_ERROR_INVALID_CONTEXT,
	      "without_a_context_that_is_the_error");
}

/* Of a library that is there. */
static bool has_addresses(uint32_t library)
{
	const struct call *c;

	for (c = calls; c < calls + sizeof(calls) / sizeof(*calls); c++)
		if (library && c->library == library && count(c, ADDRESS))
			return true;
	return false;
}

static void each_of_library(struct wh_session *s, const char *name, uint32_t library)
{
	char wanted[96], refused[96];

	snprintf(wanted, sizeof(wanted), "calls_of_%s_pass_with_device_memory", name);
	snprintf(refused, sizeof(refused), "and_none_of_%s_with_the_workers_own", name);
	each_call(s, library, ADDRESS, wanted, refused);
}

/* --- nvJPEG: images hold addresses -------------------------------------------------------- */

static void test_pictures(struct wh_session *s)
{
	uint64_t handle = wh_handle_for(s, WH_H_nvjpegHandle_t, (void *)0x6000, 0);
	uint64_t state = wh_handle_for(s, WH_H_nvjpegJpegState_t, (void *)0x6010, 0);
	struct wh_req_nvjpegDecodeBatchedInitialize *b;
	struct wh_req_whNvjpegBatch *batch;
	struct wh_req_nvjpegDecode *d;
	nvjpegImage_t *image;
	uint64_t *lengths;
	int i;

	for (i = 0; i < NVJPEG_MAX_COMPONENT; i++) {
		d = request(s, 0, FIXED(*d) + 16);
		d->handle = handle;
		d->jpeg_handle = state;
		d->length = 4;
		twice(s, WH_LIB_nvjpeg, WH_CALL_nvjpegDecode, FIXED(*d) + 16,
		      (uint64_t *)&d->destination.channel[i], "channel_of_a_picture");
	}
	b = request(s, 0, sizeof(*b));
	b->handle = handle;
	b->jpeg_handle = state;
	b->batch_size = 2;
	ask(s, WH_LIB_nvjpeg, WH_CALL_nvjpegDecodeBatchedInitialize, sizeof(*b));
	batch = request(s, 0, FIXED(*batch) + 16 + 2 * sizeof(*image) + 32);
	batch->handle = handle;
	batch->state = state;
	batch->count = 2;
	lengths = (void *)((uint8_t *)batch + FIXED(*batch));
	lengths[0] = lengths[1] = 4;
	image = (void *)(lengths + 2);
	image[0].channel[0] = (void *)DEVICE;
	twice(s, WH_LIB_nvjpeg, WH_CALL_whNvjpegBatch, FIXED(*batch) + 16 + 2 * sizeof(*image) + 32,
	      (uint64_t *)&image[1].channel[2], "channel_of_a_picture_of_a_batch");
	batch->count = 3;
	ok(ask(s, WH_LIB_nvjpeg, WH_CALL_whNvjpegBatch, FIXED(*batch) + 16 + 2 * sizeof(*image) +
	       32) == NVJPEG_STATUS_INVALID_PARAMETER && !reached,
	   "batch_of_another_number_than_was_begun");
}

/* --- NPP: every address of every function ---------------------------------------------------- */

/* Makes a request whose addresses are all in device memory, and whose host memory is in it. */
static void table_request(struct wh_session *s, uint32_t number, struct table_call *t)
{
	table_addresses(request(s, 0, 4096), number, DEVICE, t);
}

static int32_t ask_table(struct wh_session *s, uint32_t number, struct table_call *t, int wrong,
			 uint64_t address)
{
	table_request(s, number, t);
	if (wrong >= 0)
		put(t->address[wrong], address, 8);
	return ask(s, WH_LIB_npp, WH_LIB_npp << WH_LIBRARY_SHIFT | number, t->size);
}

static void test_tables(struct wh_session *s)
{
	struct wh_npp_functions *l = s->library[WH_LIB_npp];
	unsigned int passed = 0, refused = 0, shared = 0, cut = 0, calls = 0, addresses = 0, i;
	struct table_call t;
	uint32_t n;

	for (n = 0; n < WH_NPP_CALLS; n++) {
		l->call[n] = any;
		l->looked[n] = 1;
		if (!wh_npp_names[n].name)
			continue;
		calls++;
		if (!ask_table(s, n, &t, -1, 0) && reached)
			passed++;
		else
			diag("%s: %d", wh_npp_names[n].name, rsp(s)->result);
		addresses += t.addresses;
		for (i = t.addresses; i--;) {
			if (ask_table(s, n, &t, i, (uintptr_t)own) == NPP_BAD_ARGUMENT_ERROR &&
			    !reached)
				refused++;
			else
				diag("%s: address %u", wh_npp_names[n].name, i);
			if (ask_table(s, n, &t, i, (uintptr_t)s->data) && !reached)
				shared++;
		}
		/* What a function has behind the registers may not be missing. */
		table_request(s, n, &t);
		if (t.size == FIXED(struct wh_req_table) ||
		    ask(s, WH_LIB_npp, WH_LIB_npp << WH_LIBRARY_SHIFT | n, t.size - 16))
			cut++;
	}
	ok(calls > 6000 && passed == calls, "each_function_of_NPP_passes_with_device_memory");
	ok(addresses > 15000 && refused == addresses, "and_none_with_the_workers_own");
	ok(shared == addresses, "nor_with_host_memory_behind_which_is_the_workers_own");
	ok(cut == calls, "a_request_that_ends_too_early_is_refused");
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	char before[sizeof(own)];
	uint32_t i;
	int points = 77;

	(void)argc;
	for (i = 0; i < WH_LIBS; i++)
		points += 2 * has_addresses(i);
	tap_plan(points);
	memcpy(before, own, sizeof(own));
	say_hello(s);
	fill(s);
	make_objects(s);
	each_call(s, 0, ADDRESS, "calls_of_the_driver_pass_with_device_memory",
		  "and_none_with_the_workers_own");
	for (i = 0; i < WH_LIBS; i++)
		if (has_addresses(i))
			each_of_library(s, wh_libraries[i]->name, i);
	test_copies(s);
	test_nodes(s);
	test_libraries(s);
	test_long(s);
	test_products(s);
	test_transforms(s);
	test_sparse_products(s);
	test_refused_bias(s);
	test_held(s);
	test_options(s);
	test_attributes(s);
	test_ranges(s);
	test_pictures(s);
	test_tables(s);
	ok(!memcmp(before, own, sizeof(own)), "the_workers_memory_is_as_it_was");
	wh_session_close(s);
	return tap_exit();
}
