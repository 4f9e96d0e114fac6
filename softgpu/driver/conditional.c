// SPDX-License-Identifier: Apache-2.0
/*
 * Conditional nodes: a condition is a number that kernels set by cudaGraphSetConditional(),
 * and a node that runs one of its body graphs by it, once or again and again. The graph and
 * all copies of the node share the condition.
 *
 * A handle is a place in the table and the condition's own number, so a kernel may pass any
 * bits. Helper threads of a launch look handles up while the launching thread holds the lock, or
 * each takes it (sgpu_cond_set_beside()).
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

struct sgpu_cond {
	uint64_t handle;
	const struct sgpu_graph *graph;	/* it was made for this one; NULL: that has ended */
	struct sgpu_ctx *ctx;
	uint32_t initial, value;
	bool assign;		/* each launch begins with @initial */
	bool used;		/* has a node */
	bool ready;		/* an executable graph has it */
	unsigned int refs;	/* the graph, and nodes */
};

static struct {
	struct sgpu_cond **v;
	uint32_t n;
} conds;

static struct sgpu_cond *find(uint64_t handle)
{
	uint32_t i = (uint32_t)handle - 1;

	return i < conds.n && conds.v[i] && conds.v[i]->handle == handle ? conds.v[i] : NULL;
}

static uint32_t free_place(void)
{
	struct sgpu_cond **v;
	uint32_t i = 0;

	while (i < conds.n && conds.v[i])
		i++;
	if (i < conds.n)
		return i;
	v = realloc(conds.v, 2 * (conds.n + 4) * sizeof(struct sgpu_cond *));
	if (!v)
		return UINT32_MAX;
	conds.v = v;
	memset(v + conds.n, 0, (conds.n + 8) * sizeof(struct sgpu_cond *));
	conds.n = 2 * (conds.n + 4);
	return i;
}

static void put(struct sgpu_cond *c)
{
	if (--c->refs)
		return;
	conds.v[(uint32_t)c->handle - 1] = NULL;
	free(c);
}

bool sgpu_cond_set(uint64_t handle, uint32_t value)
{
	struct sgpu_cond *c = find(handle);

	if (c)
		__atomic_store_n(&c->value, value, __ATOMIC_RELAXED);
	return c;
}

bool sgpu_cond_set_beside(uint64_t handle, uint32_t value)
{
	bool set;

	sgpu_lock();
	set = sgpu_cond_set(handle, value);
	sgpu_unlock();
	return set;
}

void sgpu_conds_drop(struct sgpu_graph *g)
{
	for (uint32_t i = 0; g->conditions && i < conds.n; i++) {
		if (conds.v[i] && conds.v[i]->graph == g) {
			conds.v[i]->graph = NULL;
			put(conds.v[i]);
		}
	}
	g->conditions = false;
}

/* Has the graph a condition that no node uses? */
static bool unused(const struct sgpu_graph *g)
{
	for (uint32_t i = 0; g->conditions && i < conds.n; i++)
		if (conds.v[i] && conds.v[i]->graph == g && !conds.v[i]->used)
			return true;
	return false;
}

/* ---- nodes ---- */

static bool encloses(const struct sgpu_graph *outer, const struct sgpu_graph *g)
{
	while (g && g != outer)
		g = g->holder ? g->holder->graph : NULL;
	return g;
}

static bool size_ok(CUgraphConditionalNodeType type, unsigned int size)
{
	return type == CU_GRAPH_COND_TYPE_IF ? size == 1 || size == 2 :
	       type == CU_GRAPH_COND_TYPE_WHILE ? size == 1 :
	       type == CU_GRAPH_COND_TYPE_SWITCH && size;
}

static CUresult add_bodies(struct sgpu_node *n, unsigned int size)
{
	n->cond.body = calloc(size, sizeof(*n->cond.body));
	if (!n->cond.body)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; n->cond.size < size; n->cond.size++) {
		struct sgpu_graph *g = sgpu_graph_new();

		if (!g)
			return CUDA_ERROR_OUT_OF_MEMORY;
		g->owned = true;
		g->holder = n;
		n->cond.body[n->cond.size] = g;
	}
	return CUDA_SUCCESS;
}

CUresult sgpu_cond_node(struct sgpu_node *n, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	struct sgpu_cond *c = find(p->handle);
	struct sgpu_ctx *ctx = p->ctx ? sgpu_obj_get(SGPU_CTX, p->ctx) : n->ctx;
	CUresult rc;

	/* Its parameters cannot be changed. */
	if (n->cond.cond)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!c || c->used || !c->graph || !encloses(c->graph, n->graph) || ctx != c->ctx ||
	    !size_ok(p->type, p->size))
		return CUDA_ERROR_INVALID_VALUE;
	rc = add_bodies(n, p->size);
	if (rc) {
		sgpu_cond_node_drop(n);
		return rc;
	}
	c->refs++;
	c->used = true;
	n->cond.cond = c;
	n->cond.type = p->type;
	n->cond.original = true;
	n->graph->conditional = true;
	return CUDA_SUCCESS;
}

void sgpu_cond_node_drop(struct sgpu_node *n)
{
	while (n->cond.size)
		sgpu_graph_free(n->cond.body[--n->cond.size]);
	free(n->cond.body);
	n->cond.body = NULL;
	if (n->cond.cond && n->cond.original)
		n->cond.cond->used = false;
	if (n->cond.cond)
		put(n->cond.cond);
	n->cond.cond = NULL;
}

/* A node of an executable graph keeps its bodies and takes what their nodes do. */
static CUresult take_bodies(struct sgpu_node *to, const struct sgpu_node *from)
{
	CUresult rc = CUDA_SUCCESS;

	for (unsigned int i = 0; i < to->cond.size; i++) {
		struct sgpu_graph *a = to->cond.body[i], *b = from->cond.body[i];

		for (unsigned int k = 0; !rc && k < a->nodes.n; k++)
			rc = sgpu_node_take(a->nodes.v[k], b->nodes.v[k]);
	}
	return rc;
}

CUresult sgpu_cond_node_take(struct sgpu_node *to, const struct sgpu_node *from)
{
	struct sgpu_cond *old = to->cond.cond;

	from->cond.cond->refs++;
	to->cond.cond = from->cond.cond;
	to->cond.type = from->cond.type;
	if (old) {
		put(old);
		return take_bodies(to, from);
	}
	to->graph->conditional = true;
	to->cond.body = calloc(from->cond.size, sizeof(*to->cond.body));
	if (!to->cond.body)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; to->cond.size < from->cond.size; to->cond.size++) {
		struct sgpu_graph *g = sgpu_graph_copy(from->cond.body[to->cond.size]);

		if (!g)
			return CUDA_ERROR_OUT_OF_MEMORY;
		g->owned = true;
		g->holder = to;
		to->cond.body[to->cond.size] = g;
	}
	return CUDA_SUCCESS;
}

/* ---- executable graphs ---- */

static bool may_be_in_body(CUgraphNodeType type)
{
	return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_EMPTY ||
	       type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_MEMSET ||
	       type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

static CUgraphInstantiateResult check_graph(const struct sgpu_graph *g, bool body);

static CUgraphInstantiateResult check_node(const struct sgpu_node *n, bool body)
{
	CUgraphInstantiateResult r = CUDA_GRAPH_INSTANTIATE_SUCCESS;

	if (body && !may_be_in_body(n->type))
		return CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
	if (n->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return check_graph(n->child, body);
	if (n->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
		return r;
	if (n->cond.cond->ready)
		return CUDA_GRAPH_INSTANTIATE_ERROR;
	for (unsigned int i = 0; !r && i < n->cond.size; i++)
		r = check_graph(n->cond.body[i], true);
	return r;
}

static CUgraphInstantiateResult check_graph(const struct sgpu_graph *g, bool body)
{
	CUgraphInstantiateResult r = CUDA_GRAPH_INSTANTIATE_SUCCESS;

	if (unused(g))
		return CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
	for (unsigned int i = 0; !r && i < g->nodes.n; i++)
		r = check_node(g->nodes.v[i], body);
	return r;
}

CUgraphInstantiateResult sgpu_conds_check(const struct sgpu_graph *g)
{
	return check_graph(g, false);
}

static void each(struct sgpu_graph *g, void (*visit)(struct sgpu_cond *c, bool on), bool on)
{
	for (unsigned int i = 0; g->conditional && i < g->nodes.n; i++) {
		struct sgpu_node *n = g->nodes.v[i];

		if (n->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
			continue;
		visit(n->cond.cond, on);
		for (unsigned int k = 0; k < n->cond.size; k++)
			each(n->cond.body[k], visit, on);
	}
}

static void set_ready(struct sgpu_cond *c, bool on)
{
	c->ready = on;
}

static void set_initial(struct sgpu_cond *c, bool on)
{
	(void)on;
	if (c->assign)
		c->value = c->initial;
}

void sgpu_conds_ready(struct sgpu_graph *g, bool on)
{
	each(g, set_ready, on);
}

void sgpu_conds_begin(struct sgpu_graph *g)
{
	each(g, set_initial, true);
}

struct sgpu_graph *sgpu_cond_next(const struct sgpu_node *n, bool again)
{
	uint32_t value = n->cond.cond->value;

	switch (n->cond.type) {
	case CU_GRAPH_COND_TYPE_WHILE:
		return value ? n->cond.body[0] : NULL;
	case CU_GRAPH_COND_TYPE_IF:
		value = !value;
		break;
	case CU_GRAPH_COND_TYPE_SWITCH:
		break;
	}
	return !again && value < n->cond.size ? n->cond.body[value] : NULL;
}

/* ---- exported ---- */

static CUresult create(CUgraphConditionalHandle *out, struct sgpu_graph *g, struct sgpu_ctx *ctx,
		       unsigned int initial, unsigned int flags)
{
	struct sgpu_cond *c = calloc(1, sizeof(*c));
	uint32_t place = c ? free_place() : UINT32_MAX;

	if (place == UINT32_MAX) {
		free(c);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*c = (struct sgpu_cond){
		.handle = sgpu_new_id() << 32 | (place + 1), .graph = g, .ctx = ctx, .refs = 1,
		.initial = initial, .assign = flags & CU_GRAPH_COND_ASSIGN_DEFAULT,
	};
	conds.v[place] = c;
	g->conditions = true;
	*out = c->handle;
	return CUDA_SUCCESS;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph,
					CUcontext handle, unsigned int initial, unsigned int flags)
{
	struct sgpu_ctx *ctx = NULL;
	struct sgpu_graph *g;
	CUresult rc = sgpu_enter_healthy();

	if (rc)
		return rc;
	g = sgpu_obj_get(SGPU_GRAPH, graph);
	if (!out || !g || (flags & ~(unsigned int)CU_GRAPH_COND_ASSIGN_DEFAULT))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (handle)
		ctx = sgpu_obj_get(SGPU_CTX, handle);
	else
		sgpu_ctx_current(&ctx);
	return sgpu_leave(ctx ? create(out, g, ctx, initial, flags) : CUDA_ERROR_INVALID_CONTEXT);
}
