// SPDX-License-Identifier: Apache-2.0
/*
 * A client that makes the driver read and write its worker's own memory, by ordinary
 * requests. In a past attack, cuMemcpy() wrote over a function pointer of the worker, so
 * that its user ran programs as the server's user. It also zeroed its tenant's counters,
 * and then could have all memory. `break_out memory` tries each way that softgpu knows;
 * `break_out usage` runs as a tenant with 64 MiB and wants more.
 */
#include "hostile.h"

#define BYTES	64

static struct hostile h;
static uint64_t device, graph, area, target;	/* area: the data area at the worker's address */

/* --- Ways to write ------------------------------------------------------------------------- */

#define TWO_SIDED(call, to, from, size)							\
static int do_##call(uint64_t dst, uint64_t src)					\
{											\
	struct wh_req_##call *q = hostile_request(&h, WH_CALL_##call, sizeof(*q));	\
											\
	q->to = dst;									\
	q->from = src;									\
	q->size = BYTES;								\
	return hostile_call(&h, sizeof(*q));						\
}
TWO_SIDED(cuMemcpy, dst, src, ByteCount)
TWO_SIDED(cuMemcpyAsync, dst, src, ByteCount)
TWO_SIDED(cuMemcpyDtoD_v2, dstDevice, srcDevice, ByteCount)
TWO_SIDED(cuMemcpyDtoDAsync_v2, dstDevice, srcDevice, ByteCount)

static int do_peer(uint64_t dst, uint64_t src)
{
	struct wh_req_cuMemcpyPeer *q = hostile_request(&h, WH_CALL_cuMemcpyPeer, sizeof(*q));

	q->dstDevice = dst;
	q->srcDevice = src;
	q->dstContext = q->srcContext = h.ctx;
	q->ByteCount = BYTES;
	return hostile_call(&h, sizeof(*q));
}

static int do_2d(uint64_t dst, uint64_t src)
{
	struct wh_req_cuMemcpy2D_v2 *q = hostile_request(&h, WH_CALL_cuMemcpy2D_v2, sizeof(*q));

	q->pCopy.srcMemoryType = q->pCopy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	q->pCopy.srcDevice = src;
	q->pCopy.dstDevice = dst;
	q->pCopy.WidthInBytes = q->pCopy.srcPitch = q->pCopy.dstPitch = BYTES;
	q->pCopy.Height = 1;
	return hostile_call(&h, sizeof(*q));
}

/*
 * Copies two rows of which only the first is in memory of the client; the pitch leads the
 * second to the target.
 */
static int do_2d_rows(uint64_t dst, uint64_t src)
{
	struct wh_req_cuMemcpy2D_v2 *q = hostile_request(&h, WH_CALL_cuMemcpy2D_v2, sizeof(*q));

	q->pCopy.srcMemoryType = q->pCopy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	q->pCopy.srcDevice = src == target ? device : src;
	q->pCopy.dstDevice = dst == target ? device : dst;
	q->pCopy.WidthInBytes = BYTES;
	q->pCopy.srcPitch = src == target ? target - device : BYTES;
	q->pCopy.dstPitch = dst == target ? target - device : BYTES;
	q->pCopy.Height = 2;
	return hostile_call(&h, sizeof(*q));
}

static void fill_3d(CUDA_MEMCPY3D *c, uint64_t dst, uint64_t src)
{
	c->srcMemoryType = c->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	c->srcDevice = src;
	c->dstDevice = dst;
	c->WidthInBytes = c->srcPitch = c->dstPitch = BYTES;
	c->Height = c->Depth = c->srcHeight = c->dstHeight = 1;
}

static int do_3d(uint64_t dst, uint64_t src)
{
	struct wh_req_cuMemcpy3D_v2 *q = hostile_request(&h, WH_CALL_cuMemcpy3D_v2, sizeof(*q));

	fill_3d(&q->pCopy, dst, src);
	return hostile_call(&h, sizeof(*q));
}

static int do_3d_peer(uint64_t dst, uint64_t src)
{
	struct wh_req_cuMemcpy3DPeer *q = hostile_request(&h, WH_CALL_cuMemcpy3DPeer, sizeof(*q));

	fill_3d((CUDA_MEMCPY3D *)&q->pCopy, dst, src);
	q->pCopy.srcContext = q->pCopy.dstContext = (CUcontext)h.ctx;
	return hostile_call(&h, sizeof(*q));
}

static int run_graph(void)
{
	const struct wh_rsp_cuGraphInstantiateWithFlags *r = (const void *)h.msg;
	struct wh_req_cuGraphInstantiateWithFlags *q;
	struct wh_req_cuGraphLaunch *l;
	uint64_t exec;
	int res;

	q = hostile_request(&h, WH_CALL_cuGraphInstantiateWithFlags, sizeof(*q));
	q->hGraph = graph;
	res = hostile_call(&h, sizeof(*q));
	exec = r->phGraphExec;
	if (res)
		return res;
	l = hostile_request(&h, WH_CALL_cuGraphLaunch, sizeof(*l));
	l->hGraph = exec;
	return hostile_call(&h, sizeof(*l));
}

static struct wh_req_whGraphNode *node(CUgraphNodeType type)
{
	const struct wh_rsp_cuGraphCreate *r = (const void *)h.msg;
	struct wh_req_whGraphNode *q;

	hostile_request(&h, WH_CALL_cuGraphCreate, sizeof(struct wh_req_cuGraphCreate));
	hostile_call(&h, sizeof(struct wh_req_cuGraphCreate));
	graph = r->phGraph;
	q = hostile_request(&h, WH_CALL_whGraphNode, sizeof(*q));
	q->graph = graph;
	q->op = WH_NODE_ADD;
	q->params.type = type;
	return q;
}

static int do_node(uint64_t dst, uint64_t src)
{
	struct wh_req_whGraphNode *q = node(CU_GRAPH_NODE_TYPE_MEMCPY);
	int res;

	fill_3d(&q->params.memcpy.copyParams, dst, src);
	q->params.memcpy.copyCtx = (CUcontext)h.ctx;
	res = hostile_call(&h, sizeof(*q));
	return res ? res : run_graph();
}

static int do_stage(uint64_t dst, uint64_t src)
{
	struct wh_req_whStageCopy *q = hostile_request(&h, WH_CALL_whStageCopy, sizeof(*q));
	bool out = src == device || src == target;

	/* A staged copy always has the data area on one side. */
	q->kind = out ? WH_COPY_TO_HOST : WH_COPY_TO_DEVICE;
	q->device = out ? src : dst;
	q->host = area;
	q->size = BYTES;
	return hostile_call(&h, sizeof(*q));
}

static int do_posted(uint64_t dst, uint64_t src)
{
	struct wh_shm_cell *c = &h.cell[(h.calls + 1) % WH_SHM_CELLS];
	struct wh_req_cuMemcpyAsync *q = (struct wh_req_cuMemcpyAsync *)c->request;
	int res;

	memset(c, 0, sizeof(*c));
	c->size = sizeof(*q);
	c->handler = WH_HANDLER_CUDA;
	q->hdr.call = WH_CALL_cuMemcpyAsync;
	q->hdr.ctx = h.ctx;
	q->dst = dst;
	q->src = src;
	q->ByteCount = BYTES;
	hostile_send(&h, ++h.calls);
	if (!hostile_await(&h, h.calls))
		return -2;
	res = (int)h.slot->deferred;
	h.slot->deferred = 0;
	return res;
}

static int do_fill(uint64_t dst, uint64_t src)
{
	struct wh_req_cuMemsetD8_v2 *q = hostile_request(&h, WH_CALL_cuMemsetD8_v2, sizeof(*q));

	(void)src;
	q->dstDevice = dst;
	q->N = BYTES;
	return hostile_call(&h, sizeof(*q));
}

static int do_fill_node(uint64_t dst, uint64_t src)
{
	struct wh_req_whGraphNode *q = node(CU_GRAPH_NODE_TYPE_MEMSET);
	int res;

	(void)src;
	q->params.memset.dst = dst;
	q->params.memset.elementSize = 1;
	q->params.memset.width = q->params.memset.pitch = BYTES;
	q->params.memset.height = 1;
	q->params.memset.ctx = (CUcontext)h.ctx;
	res = hostile_call(&h, sizeof(*q));
	return res ? res : run_graph();
}

static int do_small(uint64_t dst, uint64_t src)
{
	struct wh_req_whSmallIn *q = hostile_request(&h, WH_CALL_whSmallIn, sizeof(*q) + BYTES);

	(void)src;
	q->device = dst;
	q->size = BYTES;
	return hostile_call(&h, sizeof(*q) + BYTES);
}

static const struct way {
	const char *name;
	int (*run)(uint64_t dst, uint64_t src);
	bool reads;		/* it has a source */
} ways[] = {
	{ "cuMemcpy", do_cuMemcpy, true },
	{ "cuMemcpyAsync", do_cuMemcpyAsync, true },
	{ "posted_cuMemcpyAsync", do_posted, true },
	{ "cuMemcpyDtoD", do_cuMemcpyDtoD_v2, true },
	{ "cuMemcpyDtoDAsync", do_cuMemcpyDtoDAsync_v2, true },
	{ "cuMemcpyPeer", do_peer, true },
	{ "cuMemcpy2D", do_2d, true },
	{ "second_row_of_cuMemcpy2D", do_2d_rows, true },
	{ "cuMemcpy3D", do_3d, true },
	{ "cuMemcpy3DPeer", do_3d_peer, true },
	{ "copy_node", do_node, true },
	{ "staged_copy", do_stage, true },
	{ "cuMemsetD8", do_fill, false },
	{ "fill_node", do_fill_node, false },
	{ "small_copy", do_small, false },
};

/* Finds the worker's arguments and environment, because the worker itself does not write there. */
static uint64_t find_target(int pid)
{
	uint64_t end, at = worker_mapping(pid, "[stack]", &end);

	return at ? (end - 256) & ~63ULL : 0;
}

static void try(const struct way *w, int pid)
{
	uint8_t before[BYTES], after[BYTES];
	char name[96];
	int good, in, out = 1;

	good = w->run(device, area);
	worker_read(pid, target, before, BYTES);
	memset(h.data, 0xaa, BYTES);
	in = w->run(target, area);
	memset(after, 0, BYTES);
	worker_read(pid, target, after, BYTES);
	snprintf(name, sizeof(name), "%s_does_not_write_to_the_worker", w->name);
	if (!ok(!good && in > 0 && !memcmp(before, after, BYTES), name))
		diag("device memory: %d; the worker's: %d", good, in);
	if (!w->reads)
		return;
	memset(h.data, 0x55, BYTES);
	out = w->run(area, target);
	snprintf(name, sizeof(name), "%s_does_not_read_the_worker", w->name);
	if (!ok(out > 0 && memcmp(h.data, before, BYTES), name))
		diag("result %d", out);
}

static int memory(void)
{
	unsigned int i, n = sizeof(ways) / sizeof(*ways), points = n + 1;
	int pid;

	for (i = 0; i < n; i++)
		points += ways[i].reads;
	if (!hostile_begin(&h))
		return 1;
	pid = worker_process();
	target = find_target(pid);
	if (!target || !worker_read(pid, target, &i, sizeof(i))) {
		printf("1..0 # SKIP nobody but root can look into worker %d\n", pid);
		return geteuid() == 0;
	}
	tap_plan(points);
	area = hostile_there(&h, h.data);
	device = hostile_alloc(&h, 4096, NULL);
	if (!device) {
		printf("Bail out! no device memory\n");
		return 1;
	}
	for (i = 0; i < n; i++)
		try(&ways[i], pid);
	ok(!do_fill(device, 0), "session_lives_on");
	return tap_exit();
}

/* --- The tenant's counters --------------------------------------------------------------- */

#define MIB	(1ULL << 20)

static int usage(void)
{
	uint64_t end, at;
	int first, res, second;

	if (!hostile_begin(&h))
		return 1;
	at = worker_mapping(worker_process(), ".usage", &end);
	if (!at && geteuid()) {
		printf("1..0 # SKIP nobody but root can look into the worker\n");
		return 0;
	}
	tap_plan(3);
	hostile_alloc(&h, 48 * MIB, &first);
	ok(!first && at, "tenant_has_48_of_64_mebibytes");
	memset(h.data, 0, MIB);
	area = hostile_there(&h, h.data);
	/* Writes to the counters alone. The lock before them would stop the attacker as well. */
	for (res = 1; at + 64 <= end; at += 64)
		if (!do_cuMemcpy(at, area))
			res = 0;
	ok(res, "its_counters_are_not_written_to");
	hostile_alloc(&h, 48 * MIB, &second);
	ok_eq(second, CUDA_ERROR_OUT_OF_MEMORY, "and_it_gets_no_more");
	return tap_exit();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "memory"))
		return memory();
	if (argc == 2 && !strcmp(argv[1], "usage"))
		return usage();
	fprintf(stderr, "usage: %s memory|usage\n", argv[0]);
	return 2;
}
