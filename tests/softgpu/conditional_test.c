// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that conditional nodes run the body that their condition names, that
 * kernels and launches set the condition, that captures fill bodies, and that what the
 * driver forbids of such graphs is refused. It needs no hardware; a GPU's driver may run it.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <string.h>

#include "tap.h"

/*
 * add: *p += v. put: cudaGraphSetConditional(h, v). down: *p -= 1, and the condition is *p.
 */
static const char ptx[] =
	".version 8.3\n.target sm_75\n.address_size 64\n"
	".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
	".visible .entry add(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b64 %a<3>;\n.reg .b32 %r<4>;\n"
	"ld.param.u64 %a1, [p];\nld.param.u32 %r1, [v];\ncvta.to.global.u64 %a2, %a1;\n"
	"ld.global.u32 %r2, [%a2];\nadd.u32 %r3, %r2, %r1;\nst.global.u32 [%a2], %r3;\nret;\n}\n"
	".visible .entry put(.param .u64 h, .param .u32 v)\n{\n"
	".reg .b64 %a<2>;\n.reg .b32 %r<2>;\n"
	"ld.param.u64 %a1, [h];\nld.param.u32 %r1, [v];\n"
	"{\n.param .b64 p0;\nst.param.b64 [p0+0], %a1;\n.param .b32 p1;\nst.param.b32 [p1+0], %r1;\n"
	"call.uni cudaGraphSetConditional, (p0, p1);\n}\nret;\n}\n"
	".visible .entry down(.param .u64 h, .param .u64 p)\n{\n"
	".reg .b64 %a<4>;\n.reg .b32 %r<4>;\n"
	"ld.param.u64 %a1, [h];\nld.param.u64 %a2, [p];\ncvta.to.global.u64 %a3, %a2;\n"
	"ld.global.u32 %r1, [%a3];\nadd.u32 %r2, %r1, -1;\nst.global.u32 [%a3], %r2;\n"
	"{\n.param .b64 p0;\nst.param.b64 [p0+0], %a1;\n.param .b32 p1;\nst.param.b32 [p1+0], %r2;\n"
	"call.uni cudaGraphSetConditional, (p0, p1);\n}\nret;\n}\n";

static CUfunction add, put, down;
static CUdeviceptr mem, count;
static CUcontext ctx;
static CUstream s;

static void set(CUdeviceptr at, unsigned int v)
{
	cuMemcpyHtoD_v2(at, &v, 4);
}

static unsigned int get(CUdeviceptr at)
{
	unsigned int v = ~0u;

	cuMemcpyDtoH_v2(&v, at, 4);
	return v;
}

static CUgraphNodeParams kernel(CUfunction f, void **args)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

	p.kernel.func = f;
	p.kernel.gridDimX = p.kernel.gridDimY = p.kernel.gridDimZ = 1;
	p.kernel.blockDimX = p.kernel.blockDimY = p.kernel.blockDimZ = 1;
	p.kernel.kernelParams = args;
	return p;
}

/* Adds a kernel that adds v to *mem. */
static CUresult adds(CUgraph g, unsigned int v)
{
	void *args[] = { &mem, &v };
	CUgraphNodeParams p = kernel(add, args);
	CUgraphNode n;

	return cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p);
}

/* A graph: a kernel that sets the condition, then a conditional node with empty bodies. */
struct made {
	CUgraph g, *body;
	CUgraphConditionalHandle h;
	CUgraphNode setter, node;
	CUgraphExec x;
};

static CUgraphNodeParams conditional(CUgraphConditionalHandle h, CUgraphConditionalNodeType type,
				     unsigned int size)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };

	p.conditional.handle = h;
	p.conditional.type = type;
	p.conditional.size = size;
	p.conditional.ctx = ctx;
	return p;
}

static CUresult make(struct made *m, CUgraphConditionalNodeType type, unsigned int size,
		     unsigned int value)
{
	CUgraphNodeParams k, p;
	void *args[] = { &m->h, &value };
	CUresult res;

	memset(m, 0, sizeof(*m));
	res = cuGraphCreate(&m->g, 0);
	if (!res)
		res = cuGraphConditionalHandleCreate(&m->h, m->g, ctx, 0, 0);
	k = kernel(put, args);
	if (!res)
		res = cuGraphAddNode_v2(&m->setter, m->g, NULL, NULL, 0, &k);
	p = conditional(m->h, type, size);
	if (!res)
		res = cuGraphAddNode_v2(&m->node, m->g, &m->setter, NULL, 1, &p);
	m->body = p.conditional.phGraph_out;
	return res;
}

static CUresult begin(struct made *m)
{
	return cuGraphInstantiateWithFlags(&m->x, m->g, 0);
}

/* The kernel that sets the condition of the executable graph. */
static CUresult turn(struct made *m, unsigned int value)
{
	void *args[] = { &m->h, &value };
	CUgraphNodeParams p = kernel(put, args);

	return cuGraphExecNodeSetParams(m->x, m->setter, &p);
}

static unsigned int run(CUgraphExec x)
{
	set(mem, 0);
	if (cuGraphLaunch(x, s) || cuStreamSynchronize(s))
		return ~0u;
	return get(mem);
}

static void end(struct made *m)
{
	if (m->x)
		cuGraphExecDestroy(m->x);
	if (m->g)
		cuGraphDestroy(m->g);
}

static void branches(void)
{
	struct made m;

	ok(!make(&m, CU_GRAPH_COND_TYPE_IF, 2, 1) && m.body && m.body[0] && m.body[1] &&
	   m.body[0] != m.body[1], "a_conditional_node_has_its_bodies_at_once");
	ok(!adds(m.body[0], 3) && !adds(m.body[1], 50) && !begin(&m),
	   "bodies_are_filled_with_nodes");
	ok_eq(run(m.x), 3, "an_if_runs_its_first_body_where_the_condition_is_set");
	ok_eq(!turn(&m, 0) ? run(m.x) : ~0u, 50, "and_its_second_one_where_it_is_zero");
	end(&m);
	make(&m, CU_GRAPH_COND_TYPE_IF, 1, 0);
	adds(m.body[0], 3);
	ok_eq(!begin(&m) ? run(m.x) : ~0u, 0, "an_if_without_an_else_runs_nothing_at_zero");
	end(&m);
	make(&m, CU_GRAPH_COND_TYPE_SWITCH, 3, 2);
	adds(m.body[0], 1);
	adds(m.body[1], 20);
	adds(m.body[2], 300);
	ok_eq(!begin(&m) ? run(m.x) : ~0u, 300, "a_switch_runs_the_body_of_its_condition");
	ok_eq(!turn(&m, 1) ? run(m.x) : ~0u, 20, "another_condition_runs_another_body");
	ok_eq(!turn(&m, 3) ? run(m.x) : ~0u, 0, "a_condition_beyond_the_bodies_runs_none");
	end(&m);
}

/* Captures the kernels of a loop's body: *mem += 5, --*count, the condition is *count. */
static CUresult capture_loop(CUgraph body, CUgraphConditionalHandle h)
{
	unsigned int five = 5;
	void *adding[] = { &mem, &five }, *counting[] = { &h, &count };
	CUgraph same = NULL;
	CUresult res;

	res = cuStreamBeginCaptureToGraph(s, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (!res)
		res = cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, s, adding, NULL);
	if (!res)
		res = cuLaunchKernel(down, 1, 1, 1, 1, 1, 1, 0, s, counting, NULL);
	if (!res)
		res = cuStreamEndCapture(s, &same);
	return res || same == body ? res : CUDA_ERROR_UNKNOWN;
}

/* A loop in a graph that is being captured, as frameworks make it. */
static CUresult capture_all(CUgraph *g, CUgraph *body, CUgraphConditionalHandle *h)
{
	CUstreamCaptureStatus status;
	const CUgraphNode *deps;
	CUgraphNodeParams p;
	CUgraphNode node;
	size_t n;

	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	cuMemsetD32Async(mem, 1000, 1, s);
	if (cuStreamGetCaptureInfo_v2(s, &status, NULL, g, &deps, &n) ||
	    cuGraphConditionalHandleCreate(h, *g, ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT))
		return CUDA_ERROR_UNKNOWN;
	p = conditional(*h, CU_GRAPH_COND_TYPE_WHILE, 1);
	if (cuGraphAddNode_v2(&node, *g, deps, NULL, n, &p) ||
	    cuStreamUpdateCaptureDependencies(s, &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES))
		return CUDA_ERROR_UNKNOWN;
	*body = p.conditional.phGraph_out[0];
	cuMemsetD32Async(count + 4, 77, 1, s);
	return cuStreamEndCapture(s, g);
}

static void loops(void)
{
	struct made m = { 0 };
	CUgraph body = NULL;

	ok(!capture_all(&m.g, &body, &m.h), "a_conditional_node_joins_a_capture");
	ok(!capture_loop(body, m.h), "a_body_is_filled_by_a_capture");
	ok(!begin(&m), "such_a_graph_becomes_executable");
	set(count, 4);
	ok(run(m.x) == 1000 + 4 * 5 && get(count) == 0 && get(count + 4) == 77,
	   "a_while_runs_its_body_until_the_condition_is_zero");
	set(count, 2);
	ok_eq(run(m.x), 1000 + 2 * 5, "each_launch_begins_with_the_default_value");
	end(&m);
}

/* A loop whose body has an if of its own. */
static void nested(void)
{
	struct made m = { 0 };
	CUgraphConditionalHandle inner;
	CUgraphNodeParams p;
	CUgraphNode n;

	cuGraphCreate(&m.g, 0);
	cuGraphConditionalHandleCreate(&m.h, m.g, ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
	cuGraphConditionalHandleCreate(&inner, m.g, ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
	p = conditional(m.h, CU_GRAPH_COND_TYPE_WHILE, 1);
	cuGraphAddNode_v2(&n, m.g, NULL, NULL, 0, &p);
	m.body = p.conditional.phGraph_out;
	p = conditional(inner, CU_GRAPH_COND_TYPE_IF, 1);
	ok(!cuGraphAddNode_v2(&n, m.body[0], NULL, NULL, 0, &p) &&
	   !capture_loop(p.conditional.phGraph_out[0], m.h) && !begin(&m),
	   "a_body_has_conditional_nodes_of_its_own");
	set(count, 3);
	ok_eq(run(m.x), 15, "they_run_each_time");
	end(&m);
}

static void updates(void)
{
	CUgraphExecUpdateResultInfo info;
	struct made a, b;

	make(&a, CU_GRAPH_COND_TYPE_IF, 1, 1);
	adds(a.body[0], 3);
	begin(&a);
	make(&b, CU_GRAPH_COND_TYPE_IF, 1, 1);
	adds(b.body[0], 8);
	ok(!cuGraphExecUpdate_v2(a.x, b.g, &info) && run(a.x) == 8,
	   "an_update_changes_the_nodes_of_bodies");
	end(&b);
	make(&b, CU_GRAPH_COND_TYPE_IF, 2, 1);
	ok(cuGraphExecUpdate_v2(a.x, b.g, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE &&
	   run(a.x) == 8, "an_update_with_another_number_of_bodies_is_refused");
	end(&b);
	end(&a);
}

static void rules(void)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS how = { 0 };
	CUgraphNodeParams p;
	CUgraphNode n;
	CUgraphExec x;
	struct made m;
	CUgraph g;

	make(&m, CU_GRAPH_COND_TYPE_IF, 1, 1);
	adds(m.body[0], 3);
	p = conditional(m.h, CU_GRAPH_COND_TYPE_IF, 1);
	ok(cuGraphAddNode_v2(&n, m.g, NULL, NULL, 0, &p) == CUDA_ERROR_INVALID_VALUE,
	   "a_condition_has_one_node");
	ok(cuGraphClone(&g, m.g) == CUDA_ERROR_NOT_SUPPORTED, "such_a_graph_is_not_cloned");
	cuGraphCreate(&g, 0);
	ok(cuGraphAddChildGraphNode(&n, g, NULL, 0, m.g), "such_a_graph_is_no_child");
	p = conditional(m.h + 1, CU_GRAPH_COND_TYPE_IF, 1);
	ok(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p) == CUDA_ERROR_INVALID_VALUE,
	   "an_unknown_handle_is_refused");
	ok(!begin(&m) && cuGraphInstantiateWithFlags(&x, m.g, 0),
	   "one_executable_of_the_graph_exists_at_a_time");
	cuGraphExecDestroy(m.x);
	ok(!begin(&m) && run(m.x) == 3, "another_one_follows_it");
	ok(cuGraphDestroy(m.body[0]) == CUDA_ERROR_INVALID_VALUE, "a_body_is_not_destroyed");
	cuGraphConditionalHandleCreate(&m.h, g, ctx, 0, 0);
	p = conditional(m.h, CU_GRAPH_COND_TYPE_WHILE, 2);
	ok(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p) == CUDA_ERROR_INVALID_VALUE,
	   "a_loop_has_one_body");
	ok(cuGraphInstantiateWithParams(&x, g, &how) &&
	   how.result_out == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED,
	   "a_condition_without_a_node_is_named");
	cuGraphDestroy(g);
	ok(cuGraphConditionalHandleCreate(&m.h, m.g, ctx, 0, 2) == CUDA_ERROR_INVALID_VALUE,
	   "unknown_flags_of_a_condition_are_refused");
	end(&m);
}

int main(void)
{
	CUmodule m;

	tap_plan(28);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuMemAlloc_v2(&mem, 64);
	cuMemAlloc_v2(&count, 64);
	ok(!cuModuleLoadData(&m, ptx) && !cuModuleGetFunction(&add, m, "add") &&
	   !cuModuleGetFunction(&put, m, "put") && !cuModuleGetFunction(&down, m, "down"),
	   "the_kernels_load");
	branches();
	loops();
	nested();
	updates();
	rules();
	return tap_exit();
}
