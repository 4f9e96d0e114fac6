// SPDX-License-Identifier: Apache-2.0
/*
 * Launches of executable graphs: their nodes run one after the other, as one piece of work of the
 * stream, or where there is no queue (queue.h) at once.
 */
#include <sched.h>

#include "graph.h"
#include "queue.h"

static CUresult run_graph(struct sgpu_exec *x, struct sgpu_graph *g);

static void run_host(void *arg)
{
	const CUDA_HOST_NODE_PARAMS *p = arg;

	p->fn(p->userData);
}

static CUresult run_event(CUevent handle, bool record)
{
	struct sgpu_event *e = sgpu_obj_get(SGPU_EVENT, handle);

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (record)
		sgpu_event_now(e);
	return CUDA_SUCCESS;
}

static CUresult run_alloc(struct sgpu_exec *x, struct sgpu_galloc *a)
{
	/* The memory is still allocated by the last launch, and the graph has no automatic free. */
	if (a->live && !(x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
		return CUDA_ERROR_INVALID_VALUE;
	a->live = true;
	sgpu_mem_set_absent(a->addr, false);
	return CUDA_SUCCESS;
}

static CUresult run_free(uint64_t addr)
{
	CUresult rc;

	if (sgpu_galloc_free(addr, &rc))
		return rc;
	return sgpu_mem_release(addr, 1u << SGPU_MEM_POOL);
}

/* The function's module may have been unloaded since the node was made. */
static bool has_function(const struct sgpu_kernel_node *k)
{
	return sgpu_obj_get(SGPU_FUNC, k->launch.func) && k->launch.func->obj.id == k->func_id;
}

static CUresult run_kernel(struct sgpu_node *n)
{
	struct sgpu_kernel_node *k = &n->kernel;

	if (!has_function(k))
		return CUDA_ERROR_INVALID_HANDLE;
	return sgpu_launch_run(n->ctx, &k->launch, k->bytes);
}

static CUresult run_conditional(struct sgpu_exec *x, struct sgpu_node *n)
{
	struct sgpu_graph *body = sgpu_cond_next(n, false);
	CUresult rc = CUDA_SUCCESS;

	while (body && !rc && !sgpu_health()) {
		rc = run_graph(x, body);
		body = sgpu_cond_next(n, true);
	}
	return rc;
}

static CUresult run_node(struct sgpu_exec *x, struct sgpu_node *n)
{
	CUDA_HOST_NODE_PARAMS host;

	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return run_kernel(n);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return sgpu_copy_box(&n->copy, true);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return sgpu_fill_box(&n->fill, true);
	case CU_GRAPH_NODE_TYPE_HOST:
		host = n->host;
		sgpu_queue_call_out(run_host, &host);
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return run_graph(x, n->child);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return run_event(n->event, true);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return run_event(n->event, false);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return run_alloc(x, n->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return run_free(n->free);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return run_conditional(x, n);
	default:
		return CUDA_SUCCESS;
	}
}

/* Runs a graph. As with a kernel, a fault ends the launch, but the launch itself succeeds. */
static CUresult run_graph(struct sgpu_exec *x, struct sgpu_graph *g)
{
	CUresult rc = CUDA_SUCCESS;

	for (unsigned int i = 0; !rc && !sgpu_health() && i < g->nodes.n; i++)
		if (!g->nodes.v[i]->disabled)
			rc = run_node(x, g->nodes.v[i]);
	return rc;
}

/* A launch cannot become a node of another graph, so it ends the capture of its stream. */
static CUresult not_captured(struct sgpu_ctx *ctx, CUstream stream)
{
	struct sgpu_stream *s;
	CUresult rc = sgpu_work_stream(ctx, stream, &s);

	return !rc && s ? sgpu_capture_break(s) : rc;
}

static void give_way(void *unused)
{
	(void)unused;
	sched_yield();
}

static CUresult run_launch(struct sgpu_exec *x)
{
	CUresult rc;

	sgpu_conds_begin(x->graph);
	rc = run_graph(x, x->graph);
	x->running--;
	if (x->dying && !x->running)
		sgpu_exec_end(x);
	return rc;
}

/* ---- launches that are queued ---- */

struct queued {
	struct sgpu_task work;
	struct sgpu_exec *exec;	/* it lives as long as it is running */
	CUresult *answer;	/* of a launch that waits; NULL: it has returned */
};

static void run_queued(struct sgpu_task *w)
{
	struct queued *q = (struct queued *)w;
	CUresult rc = run_launch(q->exec);

	if (q->answer)
		*q->answer = rc;
	else if (rc && !sgpu_health())
		sgpu_poison(CUDA_ERROR_LAUNCH_FAILED);
}

static CUresult check_graph(const struct sgpu_graph *g, bool *sure);

/* Would the node run now? *sure becomes false if only its turn can tell. */
static CUresult check_node(const struct sgpu_node *n, bool *sure)
{
	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return has_function(&n->kernel) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return sgpu_copy_box(&n->copy, false);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return sgpu_fill_box(&n->fill, false);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return check_graph(n->child, sure);
	case CU_GRAPH_NODE_TYPE_HOST:
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	default:
		*sure = false;
		return CUDA_SUCCESS;
	}
}

static CUresult check_graph(const struct sgpu_graph *g, bool *sure)
{
	CUresult rc = CUDA_SUCCESS;

	for (unsigned int i = 0; !rc && i < g->nodes.n; i++)
		if (!g->nodes.v[i]->disabled)
			rc = check_node(g->nodes.v[i], sure);
	return rc;
}

static bool calls(const struct sgpu_graph *g);

static bool node_calls(const struct sgpu_node *n)
{
	bool found = n->type == CU_GRAPH_NODE_TYPE_HOST;

	if (n->type == CU_GRAPH_NODE_TYPE_GRAPH)
		found = calls(n->child);
	for (unsigned int i = 0; n->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < n->cond.size; i++)
		found |= calls(n->cond.body[i]);
	return found;
}

/* Does a launch run functions of the program? The end of the graph may, if it has user objects. */
static bool calls(const struct sgpu_graph *g)
{
	bool found = g->nholds;

	for (unsigned int i = 0; !found && i < g->nodes.n; i++)
		found = node_calls(g->nodes.v[i]);
	return found;
}

/*
 * A launch of a graph with nodes of memory, events or conditions waits for the end: only then is it
 * known whether each could run.
 */
static CUresult submit(struct sgpu_stream *s, struct sgpu_exec *x)
{
	CUresult rc = CUDA_SUCCESS;
	struct queued *q;
	uint64_t ticket;
	bool sure = true;

	rc = check_graph(x->graph, &sure);
	if (rc && sure)
		return rc;
	q = sgpu_task_new(sizeof(*q), run_queued);
	if (!q)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->running++;
	q->exec = x;
	q->work.always = true;
	q->work.calls = calls(x->graph);
	rc = CUDA_SUCCESS;
	if (!sure)
		q->answer = &rc;
	ticket = x->last = sgpu_task_submit(s, &q->work);
	if (!sure)
		sgpu_queue_wait(ticket);
	return rc;
}

/* Without a queue an executable graph has one launch at a time: host functions release the lock. */
CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream)
{
	struct sgpu_ctx *ctx;
	struct sgpu_exec *x;
	CUresult rc = sgpu_submit(&ctx);

	if (rc)
		return rc;
	x = sgpu_obj_get(SGPU_EXEC, handle);
	if (!x || x->dying)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = not_captured(ctx, stream);
	if (rc)
		return sgpu_leave(rc);
	if (sgpu_queue_on())
		return sgpu_leave(submit(sgpu_stream_get(ctx, stream), x));
	while (x && x->running) {
		sgpu_call_out(give_way, NULL);
		x = sgpu_obj_get(SGPU_EXEC, handle);
	}
	if (!x || x->dying)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	x->running++;
	return sgpu_leave(run_launch(x));
}

/* There is nothing to upload: all memory is in one place. */
CUresult cuGraphUpload(CUgraphExec handle, CUstream stream)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	if (!sgpu_obj_get(SGPU_EXEC, handle))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_leave(not_captured(ctx, stream));
}

