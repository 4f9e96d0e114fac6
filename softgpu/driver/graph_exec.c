// SPDX-License-Identifier: Apache-2.0
/*
 * Executable graphs: a sorted copy of a graph, which graph_run.c runs; and the
 * memory of allocation nodes, which has one address for the life of the graph
 * and its copies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "queue.h"

#define FREEABLE	(1u << SGPU_MEM_GRAPH)
#define FLAGS		(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | \
			 CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | \
			 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

/* ---- memory of allocation nodes ---- */

static struct {
	struct sgpu_galloc **v;
	unsigned int n, room;
} gallocs;

static bool gallocs_add(struct sgpu_galloc *a)
{
	unsigned int room = gallocs.room ? 2 * gallocs.room : 16;
	struct sgpu_galloc **v;

	if (gallocs.n == gallocs.room) {
		v = realloc(gallocs.v, room * sizeof(struct sgpu_galloc *));
		if (!v)
			return false;
		gallocs.v = v;
		gallocs.room = room;
	}
	gallocs.v[gallocs.n++] = a;
	return true;
}

static struct sgpu_galloc *galloc_find(uint64_t addr)
{
	for (unsigned int i = 0; i < gallocs.n; i++)
		if (gallocs.v[i]->addr == addr)
			return gallocs.v[i];
	return NULL;
}

static void galloc_end(struct sgpu_galloc *a)
{
	sgpu_mem_release(a->addr, FREEABLE);
	for (unsigned int i = 0; i < gallocs.n; i++) {
		if (gallocs.v[i] == a) {
			gallocs.v[i] = gallocs.v[--gallocs.n];
			break;
		}
	}
	free(a);
}

CUresult sgpu_node_alloc(struct sgpu_node *n, const CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct sgpu_galloc *a;
	CUresult rc;

	if (!p->bytesize ||
	    p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    p->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
	    p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !sgpu_device_ok(p->poolProps.location.id) || p->accessDescCount > 1)
		return CUDA_ERROR_INVALID_VALUE;
	a = calloc(1, sizeof(*a));
	if (!a || !gallocs_add(a)) {
		free(a);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	a->params = *p;
	a->params.accessDescs = NULL;
	a->params.accessDescCount = 0;
	a->refs = 1;
	rc = sgpu_mem_alloc_on(p->poolProps.location.id, n->ctx, p->bytesize, SGPU_MEM_GRAPH,
			       NULL, &a->addr);
	if (rc) {
		galloc_end(a);
		return rc;
	}
	a->params.dptr = a->addr;
	n->alloc = a;
	return CUDA_SUCCESS;
}

/* Drops a reference. Memory that a launch allocated and nobody freed outlives the graph. */
void sgpu_galloc_put(struct sgpu_galloc *a)
{
	if (!--a->refs && !a->live)
		galloc_end(a);
}

static CUresult galloc_dead(struct sgpu_galloc *a)
{
	if (!a || !a->live)
		return CUDA_ERROR_INVALID_VALUE;
	a->live = false;
	sgpu_mem_set_absent(a->addr, true);
	if (!a->refs)
		galloc_end(a);
	return CUDA_SUCCESS;
}

bool sgpu_galloc_free(uint64_t addr, CUresult *rc)
{
	struct sgpu_galloc *a = gallocs.n ? galloc_find(addr) : NULL;

	if (a)
		*rc = galloc_dead(a);
	return a;
}

/* ---- instantiation ---- */

static struct sgpu_node *unsupported(const struct sgpu_graph *g)
{
	for (unsigned int i = 0; i < g->nodes.n; i++)
		if (g->nodes.v[i]->type == CU_GRAPH_NODE_TYPE_GRAPH &&
		    g->nodes.v[i]->child->memory)
			return g->nodes.v[i];
	return NULL;
}

static CUresult instantiate(CUgraphExec *out, CUgraph handle,
			    unsigned long long flags,
			    CUgraphInstantiateResult *result)
{
	struct sgpu_graph *g = sgpu_obj_get(SGPU_GRAPH, handle);
	struct sgpu_exec *x;

	*result = CUDA_GRAPH_INSTANTIATE_ERROR;
	if (!out || !g)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (flags & ~(unsigned long long)FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (unsupported(g))
		return CUDA_ERROR_NOT_SUPPORTED;
	*result = sgpu_conds_check(g);
	if (*result)
		return CUDA_ERROR_INVALID_VALUE;
	*result = CUDA_GRAPH_INSTANTIATE_ERROR;
	x = sgpu_obj_new(SGPU_EXEC);
	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->graph = sgpu_graph_copy(g);
	x->flags = flags;
	if (x->graph && sgpu_graph_sort(x->graph)) {
		x->graph->owned = true;
		sgpu_conds_ready(x->graph, true);
		*out = (CUgraphExec)x;
		*result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
		return CUDA_SUCCESS;
	}
	if (x->graph) {
		*result = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
		sgpu_graph_free(x->graph);
	}
	sgpu_obj_free(x);
	return *result == CUDA_GRAPH_INSTANTIATE_ERROR ?
	       CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g,
				     unsigned long long flags)
{
	CUgraphInstantiateResult result;
	CUresult rc = sgpu_enter_healthy();

	if (rc)
		return rc;
	rc = instantiate(out, g, flags, &result);
	sgpu_userobj_reap();
	return sgpu_leave(rc);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph g,
				      CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	CUresult rc = sgpu_enter_healthy();

	if (rc)
		return rc;
	if (!p)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	p->hErrNode_out = NULL;
	rc = instantiate(out, g, p->flags, &p->result_out);
	sgpu_userobj_reap();
	return sgpu_leave(rc);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph g, CUgraphNode *bad,
			       char *log, size_t size)
{
	if (bad)
		*bad = NULL;
	if (log && size)
		*log = '\0';
	return cuGraphInstantiateWithFlags(out, g, 0);
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph g, CUgraphNode *bad,
			    char *log, size_t size)
	__attribute__((alias("cuGraphInstantiate_v2")));

static CUresult find(CUresult rc, CUgraphExec handle, struct sgpu_exec **x)
{
	if (rc)
		return rc;
	*x = sgpu_obj_get(SGPU_EXEC, handle);
	if (!*x || (*x)->dying)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return CUDA_SUCCESS;
}

/*
 * Launches run as they were when they were queued. A function of the program, behind which one may
 * be, keeps nobody from going in, so it is waited for here.
 */
static CUresult enter_exec(CUgraphExec handle, struct sgpu_exec **x)
{
	CUresult rc = find(sgpu_enter_healthy(), handle, x);

	while (!rc && !sgpu_queue_done((*x)->last)) {
		sgpu_queue_wait((*x)->last);
		sgpu_leave(rc);
		rc = find(sgpu_enter_healthy(), handle, x);
	}
	return rc;
}

void sgpu_exec_end(struct sgpu_exec *x)
{
	sgpu_conds_ready(x->graph, false);
	sgpu_graph_free(x->graph);
	sgpu_obj_free(x);
	sgpu_userobj_reap();
}

/* A launch that is queued or runs keeps it until then. */
CUresult cuGraphExecDestroy(CUgraphExec handle)
{
	struct sgpu_exec *x;
	CUresult rc = find(sgpu_beside_healthy(), handle, &x);

	if (rc)
		return rc;
	x->dying = true;
	if (!x->running)
		sgpu_exec_end(x);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
	struct sgpu_exec *x;
	CUresult rc = enter_exec(handle, &x);

	if (rc)
		return rc;
	if (!flags)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = x->flags;
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- changing an executable graph ---- */

/* Finds the executable graph's copy of a node of the original graph. */
static struct sgpu_node *own_node(struct sgpu_exec *x, CUgraphNode handle)
{
	struct sgpu_node *n = sgpu_obj_get(SGPU_NODE, handle);

	return n ? sgpu_graph_find(x->graph, n->obj.id) : NULL;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec handle, CUgraphNode node,
				  CUgraphNodeParams *p)
{
	struct sgpu_exec *x;
	struct sgpu_node *n;
	CUresult rc = enter_exec(handle, &x);

	if (rc)
		return rc;
	n = own_node(x, node);
	rc = n && p ? sgpu_node_set(n, p) : CUDA_ERROR_INVALID_VALUE;
	if (!rc && n->type == CU_GRAPH_NODE_TYPE_GRAPH)
		sgpu_graph_sort(n->child);
	sgpu_userobj_reap();
	return sgpu_leave(rc);
}

static CUgraphExecUpdateResult compare(const struct sgpu_graph *a,
				       const struct sgpu_graph *b,
				       struct sgpu_node **bad);

static CUgraphExecUpdateResult compare_bodies(const struct sgpu_node *n, const struct sgpu_node *m,
					      struct sgpu_node **bad)
{
	CUgraphExecUpdateResult r = CU_GRAPH_EXEC_UPDATE_SUCCESS;

	if (n->cond.type != m->cond.type || n->cond.size != m->cond.size)
		return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	for (unsigned int i = 0; !r && i < n->cond.size; i++)
		r = compare(n->cond.body[i], m->cond.body[i], bad);
	return r;
}

/* Reports what differs between a graph and a later version of it. */
static CUgraphExecUpdateResult compare(const struct sgpu_graph *a,
				       const struct sgpu_graph *b,
				       struct sgpu_node **bad)
{
	*bad = NULL;
	if (a->nodes.n != b->nodes.n)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (unsigned int i = 0; i < a->nodes.n; i++) {
		const struct sgpu_node *n = a->nodes.v[i], *m = b->nodes.v[i];
		CUgraphExecUpdateResult r = CU_GRAPH_EXEC_UPDATE_SUCCESS;

		*bad = b->nodes.v[i];
		if (n->type != m->type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (n->ndeps != m->ndeps)
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		if (n->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
		    n->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
		if (n->type == CU_GRAPH_NODE_TYPE_GRAPH)
			r = compare(n->child, m->child, bad);
		if (n->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
			r = compare_bodies(n, m, bad);
		if (r)
			return r;
	}
	*bad = NULL;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* Compares edges by the positions of their nodes. Copies that were sorted alike have one order. */
static bool same_edges(const struct sgpu_graph *a, const struct sgpu_graph *b)
{
	for (unsigned int i = 0; i < a->nodes.n; i++) {
		const struct sgpu_node *n = a->nodes.v[i], *m = b->nodes.v[i];

		for (unsigned int k = 0; k < n->ndeps; k++) {
			unsigned int p = 0, q = 0;

			while (a->nodes.v[p] != n->dep[k].from)
				p++;
			while (b->nodes.v[q] != m->dep[k].from)
				q++;
			if (p != q)
				return false;
		}
	}
	return true;
}

static CUresult exec_update(struct sgpu_exec *x, struct sgpu_graph *g,
			    CUgraphExecUpdateResultInfo *info)
{
	struct sgpu_graph *sorted = sgpu_graph_copy(g);
	struct sgpu_node *bad = NULL;
	CUresult rc = CUDA_SUCCESS;

	info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
	if (!sorted)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!sgpu_graph_sort(sorted))
		rc = CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		info->result = compare(x->graph, sorted, &bad);
	if (!rc && !info->result && !same_edges(x->graph, sorted))
		info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	if (bad)
		for (unsigned int i = 0; i < g->nodes.n; i++)
			if (g->nodes.v[i]->obj.id == bad->origin)
				info->errorNode = (CUgraphNode)g->nodes.v[i];
	if (!rc && info->result)
		rc = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	sgpu_conds_ready(x->graph, rc);
	/* Handles of the first graph's nodes must go on naming the executable graph's nodes. */
	for (unsigned int i = 0; !rc && i < x->graph->nodes.n; i++)
		rc = sgpu_node_take(x->graph->nodes.v[i], sorted->nodes.v[i]);
	sgpu_conds_ready(x->graph, true);
	if (!rc) {
		sgpu_holds_drop(x->graph);
		sgpu_holds_copy(x->graph, sorted);
		sgpu_graph_sort(x->graph);
	}
	sgpu_graph_free(sorted);
	return rc;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph,
			      CUgraphExecUpdateResultInfo *info)
{
	CUgraphExecUpdateResultInfo unused;
	struct sgpu_graph *g;
	struct sgpu_exec *x;
	CUresult rc = enter_exec(handle, &x);

	if (rc)
		return rc;
	info = info ? info : &unused;
	*info = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_ERROR };
	g = sgpu_obj_get(SGPU_GRAPH, graph);
	rc = g ? exec_update(x, g, info) : CUDA_ERROR_INVALID_VALUE;
	sgpu_userobj_reap();
	return sgpu_leave(rc);
}

CUresult cuGraphExecUpdate(CUgraphExec x, CUgraph g, CUgraphNode *bad,
			   CUgraphExecUpdateResult *result)
{
	CUgraphExecUpdateResultInfo info = { 0 };
	CUresult rc;

	if (!bad || !result)
		return CUDA_ERROR_INVALID_VALUE;
	rc = cuGraphExecUpdate_v2(x, g, &info);
	*bad = info.errorNode;
	*result = info.result;
	return rc;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode node,
					    CUgraph child)
{
	struct sgpu_graph *g = NULL;
	struct sgpu_exec *x;
	struct sgpu_node *n, *bad;
	CUresult rc = enter_exec(handle, &x);

	if (rc)
		return rc;
	n = own_node(x, node);
	g = sgpu_obj_get(SGPU_GRAPH, child);
	if (!n || !g || n->type != CU_GRAPH_NODE_TYPE_GRAPH)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (compare(n->child, g, &bad) == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
		CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_GRAPH };

		all.graph.graph = child;
		rc = sgpu_node_set(n, &all);
		if (!rc && !sgpu_graph_sort(n->child))
			rc = CUDA_ERROR_INVALID_VALUE;
	} else {
		rc = CUDA_ERROR_INVALID_VALUE;
	}
	sgpu_userobj_reap();
	return sgpu_leave(rc);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node,
			       unsigned int on)
{
	struct sgpu_exec *x;
	struct sgpu_node *n;
	CUresult rc = enter_exec(handle, &x);

	if (rc)
		return rc;
	n = own_node(x, node);
	if (!n || (n->type != CU_GRAPH_NODE_TYPE_KERNEL &&
		   n->type != CU_GRAPH_NODE_TYPE_MEMSET &&
		   n->type != CU_GRAPH_NODE_TYPE_MEMCPY))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	n->disabled = !on;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node,
			       unsigned int *on)
{
	struct sgpu_exec *x;
	struct sgpu_node *n;
	CUresult rc = enter_exec(handle, &x);

	if (rc)
		return rc;
	n = own_node(x, node);
	if (!n || !on)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*on = !n->disabled;
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- what the memory of graphs takes ---- */

CUresult cuDeviceGraphMemTrim(CUdevice dev)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	if (!sgpu_device_ok(dev))
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	sgpu_mem_graph_trim(dev);
	return sgpu_leave(CUDA_SUCCESS);
}

static CUresult graph_bytes(CUdevice dev, CUgraphMem_attribute which, cuuint64_t *value, bool set)
{
	struct sgpu_graph_bytes *b = sgpu_mem_graph_bytes(dev);
	uint64_t *const of[] = {
		[CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT] = &b->used,
		[CU_GRAPH_MEM_ATTR_USED_MEM_HIGH] = &b->used_high,
		[CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] = &b->reserved,
		[CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH] = &b->reserved_high,
	};

	if (!value || (unsigned int)which >= sizeof(of) / sizeof(*of))
		return CUDA_ERROR_INVALID_VALUE;
	if (!set && sgpu_books_fail())
		return CUDA_ERROR_UNKNOWN;
	if (!set) {
		*value = *of[which];
		return CUDA_SUCCESS;
	}
	/* A high-water mark can only be reset to the current value. */
	if (*value || (of[which] != &b->used_high && of[which] != &b->reserved_high))
		return CUDA_ERROR_INVALID_VALUE;
	*of[which] = of[which] == &b->used_high ? b->used : b->reserved;
	return CUDA_SUCCESS;
}

static CUresult graph_attribute(CUdevice dev, CUgraphMem_attribute which, void *value, bool set)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	if (!sgpu_device_ok(dev))
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	return sgpu_leave(graph_bytes(dev, which, value, set));
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute which, void *value)
{
	return graph_attribute(dev, which, value, false);
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute which, void *value)
{
	return graph_attribute(dev, which, value, true);
}

/* ---- a picture of a graph ---- */

/* The name of a kernel node's kernel; NULL if its module is unloaded. */
static const char *kernel_name(const void *handle)
{
	const struct sgpu_func *f = sgpu_obj_get(SGPU_FUNC, handle);
	const struct sgpu_kernel *k = sgpu_obj_get(SGPU_KERNEL, handle);

	return f ? f->ptx->name : k ? k->name : NULL;
}

static void dot(FILE *f, const struct sgpu_graph *g, unsigned int depth)
{
	static const char *const name[] = {
		[CU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL",
		[CU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY",
		[CU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",
		[CU_GRAPH_NODE_TYPE_HOST] = "HOST",
		[CU_GRAPH_NODE_TYPE_GRAPH] = "GRAPH",
		[CU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
		[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "EVENT_WAIT",
		[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT_RECORD",
		[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM_ALLOC",
		[CU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM_FREE",
		[CU_GRAPH_NODE_TYPE_CONDITIONAL] = "CONDITIONAL",
	};

	for (unsigned int i = 0; i < g->nodes.n; i++) {
		const struct sgpu_node *n = g->nodes.v[i];
		const char *kernel = n->type == CU_GRAPH_NODE_TYPE_KERNEL ?
				     kernel_name(n->kernel.handle) : NULL;

		fprintf(f, "%*s\"n%llu\"[label=\"%s%s%s\"]\n", depth, "",
			(unsigned long long)n->obj.id, name[n->type], kernel ? "\\n" : "",
			kernel ? kernel : "");
		for (unsigned int k = 0; k < n->ndeps; k++)
			fprintf(f, "%*s\"n%llu\" -> \"n%llu\"\n", depth, "",
				(unsigned long long)n->dep[k].from->obj.id,
				(unsigned long long)n->obj.id);
		if (n->type == CU_GRAPH_NODE_TYPE_GRAPH)
			dot(f, n->child, depth + 2);
		for (unsigned int k = 0; n->type == CU_GRAPH_NODE_TYPE_CONDITIONAL &&
		     k < n->cond.size; k++)
			dot(f, n->cond.body[k], depth + 2);
	}
}

CUresult cuGraphDebugDotPrint(CUgraph handle, const char *path,
			      unsigned int flags)
{
	struct sgpu_graph *g;
	FILE *f;
	CUresult rc = sgpu_enter_global();

	(void)flags;
	if (rc)
		return rc;
	g = sgpu_obj_get(SGPU_GRAPH, handle);
	if (!g || !path)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	f = fopen(path, "w");
	if (!f)
		return sgpu_leave(CUDA_ERROR_OPERATING_SYSTEM);
	fprintf(f, "digraph dot {\n");
	dot(f, g, 2);
	fprintf(f, "}\n");
	fclose(f);
	return sgpu_leave(CUDA_SUCCESS);
}
