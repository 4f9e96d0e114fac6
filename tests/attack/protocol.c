// SPDX-License-Identifier: Apache-2.0
/*
 * Makes requests that are right but for one thing: living handles, existing memory, right
 * sizes, and one field that is something else. protocol_pick decides which field and
 * which value, by a random number or by the bytes of a fuzzer's input.
 */
#include "protocol.h"

#include "../lib/library_requests.h"
#include "requests.h"
#include "session/dispatch.h"
#include "shm.h"

#define DEVICE_BYTES	65536u

int protocol_slot = -1;
uint32_t protocol_sent, protocol_succeeded;
uint64_t (*protocol_pick)(uint64_t below);
bool (*protocol_send)(struct wh_session *s, uint32_t slot, uint32_t handler, size_t size);

static struct wh_session *s;
static uint64_t context, device, graph, function;
static unsigned int way;	/* a way of protocol_dispatch() */

/* Returns a number below this one; for 0, any 64-bit number. */
static uint64_t pick(uint64_t below)
{
	return protocol_pick(below);
}

/* --- Values of fields ---------------------------------------------------------------- */

/* Returns a living object of this type (of any type for 0), or 0 if there is none. */
static uint64_t living(unsigned int type)
{
	uint32_t n = s->handles.used, first = n ? pick(n) : 0, i;
	const struct wh_handle *e;

	for (i = 0; i < n; i++) {
		e = &s->handles.entry[(first + i) % n];
		if (e->real && (!type || e->type == type))
			return wh_handles_put(&s->handles, e->real, e->type, 0);
	}
	return 0;
}

static uint64_t data_place(void)
{
	return (uintptr_t)s->data + (pick(s->data_size - 4096) & ~15ULL);
}

static uint64_t odd(void)
{
	switch (pick(12)) {
	case 0:
		return 0;
	case 1:
		return pick(64);
	case 2:
		return UINT64_MAX - pick(4);
	case 3:
		return 1ULL << pick(64);
	case 4:
		return (1ULL << pick(64)) - 1;
	case 5:
		return (uintptr_t)s;
	case 6:
		return device + DEVICE_BYTES - pick(16);
	case 7:
		return (uintptr_t)s->data + s->data_size - pick(16);
	case 8:
		return living(0);
	case 9:
		return living(1 + pick(WH_H_TYPES - 1));
	case 10:
		return data_place();
	default:
		return pick(0);
	}
}

static void put(uint8_t *at, uint64_t value, uint32_t bytes)
{
	memcpy(at, &value, bytes);
}

/*
 * Moves a request that the message area cannot hold into the data area; a short request
 * then says where it lies.
 */
static size_t make_long(size_t size)
{
	struct wh_req_long *q = msg(s);
	const size_t room = s->frame[0].max;

	memcpy(s->data, q, size < room ? size : room);
	memset(q, 0, sizeof(*q));
	q->at = (uintptr_t)s->data;
	q->size = size;
	q->room = room;
	if (pick(4) == 0)
		put((uint8_t *)(&q->at + pick(3)), odd(), 8);
	return sizeof(*q);
}

static int32_t say(uint32_t call, size_t size)
{
	uint32_t handler = call >> WH_LIBRARY_SHIFT ? WH_HANDLER_LIBRARY : WH_HANDLER_CUDA;
	struct wh_req *q = msg(s);

	q->call = call;
	protocol_sent++;
	if (handler == WH_HANDLER_LIBRARY && pick(16) == 1) {
		handler = WH_HANDLER_LONG;
		size = make_long(size);
	}
	if (!protocol_send(s, fixture_slot, handler, size))
		return -1;
	protocol_succeeded += !rsp(s)->result;
	return rsp(s)->result;
}

static int64_t ask(struct wh_session *session, uint32_t call, size_t size)
{
	(void)session;
	return say(call, size) == -1;
}

/* Posts the request, which lies in a cell, so it can be no longer than a cell. */
static bool post(uint32_t slot, uint32_t handler, size_t size)
{
	static uint8_t cell[WH_SHM_LONG];
	int res;

	if (size > sizeof(cell) || size < sizeof(struct wh_req))
		return false;
	memcpy(cell, s->frame[slot].msg, size);
	wh_dispatch_posted(s, slot, handler, cell, size, &res);
	return false;
}

bool protocol_dispatch(struct wh_session *session, uint32_t slot, uint32_t handler, size_t size)
{
	wh_handler_fn *fn = wh_handler(handler);

	switch (way) {
	case 0:
		return wh_dispatch_slot(session, slot, handler, size) == WH_OK;
	case 1:
		return post(slot, handler, size);
	default:
		return fn(session, slot, size, 0) == WH_OK;
	}
}

static void *begin(uint32_t call, size_t size)
{
	struct wh_req *q = request(s, call, size);

	q->ctx = context;
	return q;
}

/* --- Calls of the descriptions -------------------------------------------------------- */

static void fill(const struct call *c)
{
	uint8_t *q = begin(c->number, c->size + 64);
	const struct field *f;

	for (f = c->field; f < c->field + c->fields; f++)
		switch (f->what) {
		case ADDRESS:
			put(q + f->at, device + (pick(DEVICE_BYTES - 256) & ~15ULL), f->bytes);
			break;
		case ORDINAL:
		case WORD:
			put(q + f->at, f->value, f->bytes);
			break;
		case HANDLE:
			put(q + f->at, living(f->value), 8);
			break;
		case HOST:
			put(q + f->at, data_place(), f->bytes);
			break;
		case TEXT:
			memcpy(q + f->at, TEXT_SENT, sizeof(TEXT_SENT));
			break;
		case BOX:
			put(q + f->at, living(f->value), 8);
			break;
		case OBJECT:
			/* The handle's number, then what the client keeps of the handle. */
			put(q + f->at, living(f->value), 8);
			put(q + f->at + 8, pick(2), 4);
			break;
		}
}

/* Spoils the head of a request, or any word of the rest. */
static size_t spoil(size_t size)
{
	struct wh_req *q = msg(s);

	switch (pick(16)) {
	case 0:
		q->null = pick(0);
		break;
	case 1:
		q->ctx = odd();
		break;
	case 2:
		q->capture_mode = odd();
		break;
	case 3:
		return pick(2) ? pick(size + 16) : size + pick(4096);
	default:
		if (size > sizeof(*q) + 8)
			put((uint8_t *)msg(s) + sizeof(*q) + pick((size - sizeof(*q)) / 4) * 4,
			    odd(), pick(2) ? 4 : 8);
	}
	return size;
}

static void one_described(const struct call *c)
{
	const struct field *f;
	size_t size = c->size;

	fill(c);
	f = &c->field[c->fields ? pick(c->fields) : 0];
	switch (pick(4)) {
	case 0:
		break;
	case 1:
		size = spoil(size);
		break;
	default:
		put((uint8_t *)msg(s) + f->at, odd(), f->bytes < 8 ? f->bytes : 8);
	}
	say(c->number, size);
}

/* --- Calls of libraries ------------------------------------------------------------------ */

/* The driver's calls come first in the table. */
static size_t first_of_libraries(void)
{
	size_t i = 0;

	while (!calls[i].library)
		i++;
	return i;
}

/* Makes any call, also one that no description covers completely. */
static void one_undescribed(void)
{
	const uint32_t own = sizeof(library_structured) / sizeof(*library_structured);
	uint32_t library = pick(WH_LIBS), call;
	size_t size;

	if (!wh_libraries[library])
		return;
	call = library << WH_LIBRARY_SHIFT | pick(wh_libraries[library]->ncalls);
	if (pick(2))
		call = library_structured[pick(own)];
	if (!wh_library_find(call))
		return;
	fuzz_state = pick(0) | 1;
	size = library_request(s, call >> WH_LIBRARY_SHIFT,
			       call & ((1u << WH_LIBRARY_SHIFT) - 1));
	((struct wh_req *)msg(s))->ctx = context;
	if (say(call, size) != -1)
		keep_made(s, call);
	if (nccl_foreign) {
		fprintf(stderr, "a communicator that was ended reached the library\n");
		abort();
	}
}

static void library_step(void)
{
	const size_t first = first_of_libraries(), all = sizeof(calls) / sizeof(*calls);

	if (pick(2))
		one_described(&calls[first + pick(all - first)]);
	else
		one_undescribed();
	if (pick(64) == 1)
		make_handles(s);
}

/* --- Calls by hand ------------------------------------------------------------------------ */

static const char ptx[] =
	".version 8.0\n.target sm_70\n.address_size 64\n"
	".global .align 4 .u32 word = 7;\n"
	".visible .entry kernel(.param .u64 p, .param .u32 n)\n{\n"
	".reg .pred %q;\n.reg .u32 %r<6>;\n.reg .u64 %d<6>;\n.shared .align 4 .b8 room[64];\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n"
	"setp.ge.u32 %q, %r2, %r1;\n@%q bra $L_end;\n"
	"mul.wide.u32 %d2, %r2, 4;\nadd.u64 %d3, %d1, %d2;\nld.global.u32 %r3, [%d3];\n"
	"mad.lo.u32 %r4, %r3, 3, %r2;\nst.global.u32 [%d3], %r4;\nbar.sync 0;\n"
	"$L_end:\nret;\n}\n";

static int32_t upload(const void *from, size_t n)
{
	struct wh_req_whUpload *q = begin(WH_CALL_whUpload, sizeof(*q));

	memcpy(s->data, from, n);
	q->total = q->size = n;
	q->addr = (uintptr_t)s->data;
	return say(WH_CALL_whUpload, sizeof(*q));
}

static uint64_t load(size_t n, bool wrong)
{
	struct wh_req_load *q = begin(WH_CALL_cuModuleLoadDataEx, FIXED(*q) + 16);
	struct wh_image_part *part = (void *)((uint8_t *)q + FIXED(*q));
	const struct wh_rsp_load *r = msg(s);
	size_t size = FIXED(*q) + sizeof(*part);

	q->parts = 1;
	part->size = n;
	if (wrong)
		size = spoil(size);
	return say(WH_CALL_cuModuleLoadDataEx, size) ? 0 : r->handle;
}

/* Sends code with some bytes from another place, with other numbers, or with its end cut off. */
static void one_image(void)
{
	char text[sizeof(ptx)];
	size_t n = sizeof(ptx), i, changes = pick(4), at;
	uint64_t module;

	memcpy(text, ptx, n);
	for (i = 0; i < changes; i++) {
		at = pick(n - 1);
		switch (pick(4)) {
		case 0:
			text[at] = (char)pick(0);
			break;
		case 1:
			text[at] = "0123456789,;%[]{}.<>"[pick(20)];
			break;
		case 2:
			memmove(text + at, text + pick(n - 24), n - at < 24 ? n - at : 24);
			break;
		case 3:
			memcpy(text + (at < n - 24 ? at : 0), "99999999999999999999", pick(21));
		}
	}
	text[n - 1] = 0;
	if (pick(8) == 0)
		n = 1 + pick(n);
	if (upload(text, n))
		return;
	module = load(n, pick(4) == 0);
	if (module) {
		struct wh_req_cuModuleUnload *q = begin(WH_CALL_cuModuleUnload, sizeof(*q));

		q->hmod = module;
		say(WH_CALL_cuModuleUnload, sizeof(*q));
	}
}

static void one_launch(void)
{
	struct wh_req_whLaunch *q = begin(WH_CALL_whLaunch, FIXED(*q) + 64);
	uint8_t *param = (uint8_t *)q + FIXED(*q);

	q->function = function;
	q->grid[0] = q->grid[1] = q->grid[2] = q->block[1] = q->block[2] = 1;
	q->block[0] = 32;
	q->param_bytes = 12;
	put(param, device, 8);
	put(param + 8, 32, 4);
	/*
	 * A bad address ends the context for good, so the parameters are spoilt only now and
	 * then.
	 */
	if (pick(16) == 0)
		say(WH_CALL_whLaunch, spoil(FIXED(*q) + 16));
	else
		say(WH_CALL_whLaunch, FIXED(*q) + 16);
}

static void one_node(void)
{
	static const CUgraphNodeType types[] = {
		CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET,
		CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
		CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
		CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_CONDITIONAL,
		CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
	};
	struct wh_req_whGraphNode *q = begin(WH_CALL_whGraphNode, FIXED(*q) + 256);
	CUgraphNodeParams *p = &q->params;
	size_t size = FIXED(*q);

	q->op = pick(3);
	q->graph = living(q->op == WH_NODE_EXEC ? WH_H_CUgraphExec : WH_H_CUgraph);
	q->node = living(WH_H_CUgraphNode);
	p->type = types[pick(sizeof(types) / sizeof(*types))];
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		p->kernel.func = (CUfunction)function;
		p->kernel.gridDimX = p->kernel.gridDimY = p->kernel.gridDimZ = 1;
		p->kernel.blockDimX = p->kernel.blockDimY = p->kernel.blockDimZ = 1;
		q->bytes = 12;
		put((uint8_t *)q + size, device, 8);
		size += 16;
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		p->memcpy.copyParams.srcMemoryType = p->memcpy.copyParams.dstMemoryType =
			CU_MEMORYTYPE_UNIFIED;
		p->memcpy.copyParams.srcDevice = device;
		p->memcpy.copyParams.dstDevice = device + 4096;
		p->memcpy.copyParams.WidthInBytes = 64;
		p->memcpy.copyParams.Height = p->memcpy.copyParams.Depth = 1;
		p->memcpy.copyCtx = (CUcontext)context;
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		p->memset.dst = device;
		p->memset.elementSize = 4;
		p->memset.width = p->memset.height = 1;
		p->memset.ctx = (CUcontext)context;
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		p->graph.graph = (CUgraph)living(WH_H_CUgraph);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		p->alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
		p->alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		p->alloc.bytesize = 4096;
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		p->free.dptr = device;
		break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		p->eventWait.event = (CUevent)living(WH_H_CUevent);
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		p->memOp.count = 1;
		p->memOp.ctx = (CUcontext)context;
		q->bytes = sizeof(CUstreamBatchMemOpParams);
		put((uint8_t *)q + size, CU_STREAM_MEM_OP_WRITE_VALUE_32, 4);
		put((uint8_t *)q + size + 8, device, 8);
		size += q->bytes;
		break;
	default:
		break;
	}
	say(WH_CALL_whGraphNode, pick(4) ? spoil(size) : size);
}

#define BY_HAND(call, type, body)						\
static void one_##call(void)							\
{										\
	type *q = begin(WH_CALL_##call, sizeof(*q) + 256);			\
	size_t size = sizeof(*q);						\
										\
	body									\
	say(WH_CALL_##call, pick(4) ? spoil(size) : size);			\
}
BY_HAND(whSmallIn, struct wh_req_whSmallIn,
	q->device = device; q->size = 64; q->async = pick(2); size += 64;)
BY_HAND(whStageCopy, struct wh_req_whStageCopy,
	q->kind = pick(4); q->device = q->kind < 2 ? device : living(WH_H_CUarray);
	q->host = data_place(); q->size = 64; q->fence = pick(WH_FENCES);)
BY_HAND(whWait, struct wh_req_whWait,
	q->kind = pick(4); q->slice_us = 1; q->handle = q->kind == WH_WAIT_EVENT ?
		living(WH_H_CUevent) : 0;)
BY_HAND(whGlobal, struct wh_req_whGlobal,
	q->owner = living(WH_H_CUmodule); q->name_size = 5;
	memcpy((uint8_t *)q + FIXED(*q), "word", 5); size = FIXED(*q) + 16;)
BY_HAND(whManaged, struct wh_req_whManaged,
	q->buffer = data_place(); q->size = 64; q->pieces = 1; q->op = pick(2);
	put((uint8_t *)q + FIXED(*q), device, 8); size = FIXED(*q) + 16;)
BY_HAND(whParamLayout, struct wh_req_whParamLayout, q->function = living(WH_H_CUfunction);)
BY_HAND(whGraphNodeGet, struct wh_req_whGraphNodeGet,
	q->node = living(WH_H_CUgraphNode); q->type = pick(13);)
BY_HAND(cuGraphInstantiateWithParams, struct wh_req_instantiate,
	q->graph = living(WH_H_CUgraph);)
BY_HAND(cuGraphExecUpdate_v2, struct wh_req_instantiate,
	q->graph = living(WH_H_CUgraph); q->exec = living(WH_H_CUgraphExec);)
BY_HAND(cuPointerGetAttribute, struct wh_req_cuPointerGetAttribute,
	q->ptr = device; q->attribute = 1 + pick(22);)
BY_HAND(cuStreamGetCaptureInfo_v3, struct wh_req_capture_info,
	q->stream = living(WH_H_CUstream); q->edges = pick(2);)
BY_HAND(cuGraphDebugDotPrint, struct wh_req_dot,
	q->graph = living(WH_H_CUgraph); q->addr = data_place(); q->size = 1024;)
BY_HAND(whDeviceInfo, struct wh_req_whDeviceInfo,)
BY_HAND(whOutput, struct wh_req,)
BY_HAND(cuLinkCreate_v2, struct wh_req_link,)
BY_HAND(cuLinkComplete, struct wh_req_link_complete,
	q->state = living(WH_H_CUlinkState); q->addr = data_place(); q->size = 1024;)
BY_HAND(cuOccupancyMaxActiveClusters, struct wh_req_whLaunch,
	q->function = function; q->block[0] = 32;)

static void one_link_input(void)
{
	struct wh_req_link *q;

	if (upload(ptx, sizeof(ptx)))
		return;
	q = begin(WH_CALL_cuLinkAddData_v2, sizeof(*q) + 64);
	q->state = living(WH_H_CUlinkState);
	q->type = CU_JIT_INPUT_PTX;
	say(WH_CALL_cuLinkAddData_v2, pick(2) ? spoil(FIXED(*q)) : FIXED(*q));
}

static void (*const by_hand[])(void) = {
	one_launch, one_launch, one_node, one_node, one_node, one_image, one_image, one_whSmallIn,
	one_whStageCopy, one_whWait, one_whGlobal, one_whManaged, one_whParamLayout,
	one_whGraphNodeGet, one_cuGraphInstantiateWithParams, one_cuGraphExecUpdate_v2,
	one_cuPointerGetAttribute, one_cuStreamGetCaptureInfo_v3, one_cuGraphDebugDotPrint,
	one_whDeviceInfo, one_whOutput, one_cuLinkCreate_v2, one_cuLinkComplete, one_link_input,
	one_cuOccupancyMaxActiveClusters,
};

static bool make_world(void)
{
	const struct wh_rsp_cuDevicePrimaryCtxRetain *c = msg(s);
	const struct wh_rsp_cuModuleGetFunction *f = msg(s);
	const struct wh_rsp_cuMemAlloc_v2 *m = msg(s);
	const struct wh_rsp_cuGraphCreate *g = msg(s);
	struct wh_req_cuMemAlloc_v2 *alloc;
	struct wh_req_cuModuleGetFunction *get;
	uint64_t module;

	context = 0;
	begin(0, 64);
	if (say(WH_CALL_cuDevicePrimaryCtxRetain, sizeof(struct wh_req_cuDevicePrimaryCtxRetain)))
		return false;
	context = c->pctx;
	alloc = begin(0, sizeof(*alloc));
	alloc->bytesize = DEVICE_BYTES;
	device = say(WH_CALL_cuMemAlloc_v2, sizeof(*alloc)) ? 0 : m->dptr;
	begin(0, 64);
	say(WH_CALL_cuGraphCreate, sizeof(struct wh_req_cuGraphCreate));
	graph = g->phGraph;
	module = upload(ptx, sizeof(ptx)) ? 0 : load(sizeof(ptx), false);
	get = begin(0, FIXED(*get) + 16);
	get->hmod = module;
	get->name_size = sizeof(TEXT_SENT);
	memcpy((uint8_t *)get + FIXED(*get), TEXT_SENT, sizeof(TEXT_SENT));
	function = say(WH_CALL_cuModuleGetFunction, FIXED(*get) + 16) ? 0 : f->hfunc;
	begin(0, 64);
	say(WH_CALL_cuStreamCreate, sizeof(struct wh_req_cuStreamCreate));
	begin(0, 64);
	say(WH_CALL_cuEventCreate, sizeof(struct wh_req_cuEventCreate));
	return device && function && graph;
}

bool protocol_prepare(struct wh_session *session)
{
	uint32_t i;

	for (i = 0; i < PROTOCOL_SLOTS; i++)
		if (!wh_session_slot(session, i))
			return false;
	fuzz_state = 1;
	stand_ins(session);
	return true;
}

bool protocol_begin(struct wh_session *session)
{
	const struct wh_rsp_cuStreamCreate *r = msg(session);

	s = session;
	way = fixture_slot = 0;
	if (!make_world())
		return false;
	begin(0, 64);
	library_stream = say(WH_CALL_cuStreamCreate, sizeof(struct wh_req_cuStreamCreate)) ? 0 :
			 r->phStream;
	library_context = context;
	library_memory = device;
	make_handles(s);
	return true;
}

/* Chooses in which slot the next request comes, and by which way. */
static void choose_way(void)
{
	unsigned int n = pick(8);

	way = n < 3 ? 0 : n == 3 ? 1 : 2;
	fixture_slot = protocol_slot < 0 ? pick(PROTOCOL_SLOTS) : (uint32_t)protocol_slot;
}

void protocol_library_step(void)
{
	choose_way();
	library_step();
}

void protocol_step(void)
{
	choose_way();
	switch (pick(8)) {
	case 0:
		library_step();
		break;
	case 1:
	case 2:
	case 3:
	case 4:
		one_described(&calls[pick(first_of_libraries())]);
		break;
	default:
		by_hand[pick(sizeof(by_hand) / sizeof(*by_hand))]();
	}
}
