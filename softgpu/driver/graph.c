// SPDX-License-Identifier: Apache-2.0
/*
 * The structure of graphs: nodes, edges, copies, and the questions about them. What a node
 * does is in graph_node.c.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* ---- lists of nodes ---- */

bool sgpu_nodes_add(struct sgpu_nodes *s, struct sgpu_node *n)
{
	unsigned int room = s->room ? 2 * s->room : 8;
	struct sgpu_node **v;

	if (s->n == s->room) {
		v = realloc(s->v, room * sizeof(*v));
		if (!v)
			return false;
		s->v = v;
		s->room = room;
	}
	s->v[s->n++] = n;
	return true;
}

bool sgpu_nodes_join(struct sgpu_nodes *to, const struct sgpu_nodes *from)
{
	for (unsigned int i = 0; i < from->n; i++) {
		unsigned int k = 0;

		while (k < to->n && to->v[k] != from->v[i])
			k++;
		if (k == to->n && !sgpu_nodes_add(to, from->v[i]))
			return false;
	}
	return true;
}

void sgpu_nodes_clear(struct sgpu_nodes *s)
{
	free(s->v);
	*s = (struct sgpu_nodes){ 0 };
}

static void nodes_remove(struct sgpu_nodes *s, const struct sgpu_node *n)
{
	unsigned int k = 0;

	for (unsigned int i = 0; i < s->n; i++)
		if (s->v[i] != n)
			s->v[k++] = s->v[i];
	s->n = k;
}

/* ---- nodes and edges ---- */

static int dep_index(const struct sgpu_node *n, const struct sgpu_node *from)
{
	for (unsigned int i = 0; i < n->ndeps; i++)
		if (n->dep[i].from == from)
			return i;
	return -1;
}

static CUresult dep_add(struct sgpu_node *n, struct sgpu_node *from,
			const CUgraphEdgeData *data)
{
	unsigned int room = n->dep_room ? 2 * n->dep_room : 4;
	struct sgpu_edge *dep;

	if (n->ndeps == n->dep_room) {
		dep = realloc(n->dep, room * sizeof(*dep));
		if (!dep)
			return CUDA_ERROR_OUT_OF_MEMORY;
		n->dep = dep;
		n->dep_room = room;
	}
	n->dep[n->ndeps] = (struct sgpu_edge){ .from = from };
	if (data)
		n->dep[n->ndeps].data = *data;
	n->ndeps++;
	return CUDA_SUCCESS;
}

static void dep_remove(struct sgpu_node *n, int i)
{
	memmove(&n->dep[i], &n->dep[i + 1],
		(n->ndeps - i - 1) * sizeof(*n->dep));
	n->ndeps--;
}

void sgpu_node_free(struct sgpu_node *n)
{
	struct sgpu_graph *g = n->graph;

	for (unsigned int i = 0; i < g->nodes.n; i++) {
		int k = dep_index(g->nodes.v[i], n);

		if (k >= 0)
			dep_remove(g->nodes.v[i], k);
	}
	nodes_remove(&g->nodes, n);
	sgpu_node_drop(n);
	free(n->dep);
	sgpu_obj_free(n);
}

/* Accepts only edges that wait for the end of a node, since softgpu runs one node at a time. */
static CUresult deps_check(const struct sgpu_graph *g, const CUgraphNode *deps,
			   const CUgraphEdgeData *edges, size_t n)
{
	if (n && !deps)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		struct sgpu_node *d = sgpu_obj_get(SGPU_NODE, deps[i]);

		if (!d || d->graph != g)
			return CUDA_ERROR_INVALID_VALUE;
		for (size_t k = 0; k < i; k++)
			if (deps[k] == deps[i])
				return CUDA_ERROR_INVALID_VALUE;
		if (edges && (edges[i].to_port || edges[i].type >
			      CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult sgpu_node_new(struct sgpu_graph *g, CUgraphNodeType type,
		       struct sgpu_ctx *ctx, const CUgraphNode *deps,
		       const CUgraphEdgeData *edges, size_t ndeps,
		       struct sgpu_node **out)
{
	CUresult rc = deps_check(g, deps, edges, ndeps);
	struct sgpu_node *n;

	if (rc)
		return rc;
	n = sgpu_obj_new(SGPU_NODE);
	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	n->graph = g;
	n->type = type;
	n->ctx = ctx;
	for (size_t i = 0; !rc && i < ndeps; i++)
		rc = dep_add(n, (struct sgpu_node *)deps[i],
			     edges ? &edges[i] : NULL);
	if (!rc && !sgpu_nodes_add(&g->nodes, n))
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	if (rc) {
		free(n->dep);
		sgpu_obj_free(n);
		return rc;
	}
	*out = n;
	return CUDA_SUCCESS;
}

/* ---- graphs ---- */

struct sgpu_graph *sgpu_graph_new(void)
{
	return sgpu_obj_new(SGPU_GRAPH);
}

void sgpu_graph_free(struct sgpu_graph *g)
{
	while (g->nodes.n)
		sgpu_node_free(g->nodes.v[g->nodes.n - 1]);
	sgpu_nodes_clear(&g->nodes);
	sgpu_conds_drop(g);
	sgpu_holds_drop(g);
	sgpu_obj_free(g);
}

struct sgpu_node *sgpu_graph_find(const struct sgpu_graph *g, uint64_t origin)
{
	for (unsigned int i = 0; i < g->nodes.n; i++)
		if (g->nodes.v[i]->origin == origin)
			return g->nodes.v[i];
	return NULL;
}

static CUresult copy_edges(struct sgpu_graph *to, const struct sgpu_graph *from)
{
	CUresult rc = CUDA_SUCCESS;

	/* Both lists have the same order, but an edge may come from a node later in the list. */
	for (unsigned int i = 0; i < from->nodes.n; i++) {
		const struct sgpu_node *n = from->nodes.v[i];

		for (unsigned int k = 0; !rc && k < n->ndeps; k++)
			rc = dep_add(to->nodes.v[i],
				     sgpu_graph_find(to, n->dep[k].from->obj.id),
				     &n->dep[k].data);
	}
	return rc;
}

struct sgpu_graph *sgpu_graph_copy(const struct sgpu_graph *g)
{
	struct sgpu_graph *c = sgpu_graph_new();
	CUresult rc = c ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	struct sgpu_node *n;

	for (unsigned int i = 0; !rc && i < g->nodes.n; i++) {
		const struct sgpu_node *from = g->nodes.v[i];

		rc = sgpu_node_new(c, from->type, from->ctx, NULL, NULL, 0, &n);
		if (rc)
			break;
		n->origin = from->obj.id;
		n->disabled = from->disabled;
		rc = sgpu_node_take(n, from);
	}
	if (!rc)
		rc = copy_edges(c, g);
	if (rc) {
		if (c)
			sgpu_graph_free(c);
		return NULL;
	}
	c->memory = g->memory;
	sgpu_holds_copy(c, g);
	return c;
}

static bool ready(const struct sgpu_node *n)
{
	for (unsigned int i = 0; i < n->ndeps; i++)
		if (!n->dep[i].from->mark)
			return false;
	return true;
}

bool sgpu_graph_sort(struct sgpu_graph *g)
{
	unsigned int done = 0, before;

	for (unsigned int i = 0; i < g->nodes.n; i++)
		g->nodes.v[i]->mark = false;
	do {
		before = done;
		for (unsigned int i = done; i < g->nodes.n; i++) {
			struct sgpu_node *n = g->nodes.v[i];

			if (!ready(n))
				continue;
			n->mark = true;
			/* Keep the other nodes in the order of their creation. */
			memmove(&g->nodes.v[done + 1], &g->nodes.v[done],
				(i - done) * sizeof(n));
			g->nodes.v[done++] = n;
		}
	} while (done > before);
	for (unsigned int i = 0; i < done; i++) {
		struct sgpu_node *n = g->nodes.v[i];

		if (n->type == CU_GRAPH_NODE_TYPE_GRAPH &&
		    !sgpu_graph_sort(n->child))
			return false;
		for (unsigned int k = 0; n->type == CU_GRAPH_NODE_TYPE_CONDITIONAL &&
		     k < n->cond.size; k++)
			if (!sgpu_graph_sort(n->cond.body[k]))
				return false;
	}
	return done == g->nodes.n;
}

/* ---- exported: graphs ---- */

static CUresult enter_graph(CUgraph handle, struct sgpu_graph **g)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	*g = sgpu_obj_get(SGPU_GRAPH, handle);
	return *g ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_VALUE);
}

static CUresult enter_node(CUgraphNode handle, struct sgpu_node **n)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	*n = sgpu_obj_get(SGPU_NODE, handle);
	return *n ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphCreate(CUgraph *out, unsigned int flags)
{
	CUresult rc = sgpu_enter_global();
	struct sgpu_graph *g;

	if (rc)
		return rc;
	if (!out || flags)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	g = sgpu_graph_new();
	if (!g)
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*out = (CUgraph)g;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph handle)
{
	struct sgpu_graph *g;
	CUresult rc = enter_graph(handle, &g);

	if (rc)
		return rc;
	if (g->owned)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	sgpu_graph_free(g);
	sgpu_userobj_reap();
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphClone(CUgraph *out, CUgraph handle)
{
	struct sgpu_graph *g, *c;
	CUresult rc = enter_graph(handle, &g);

	if (rc)
		return rc;
	if (!out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	/* cuda.h documents this error for graphs with memory nodes and conditional nodes. */
	if (g->memory || g->conditional)
		return sgpu_leave(CUDA_ERROR_NOT_SUPPORTED);
	c = sgpu_graph_copy(g);
	if (!c)
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*out = (CUgraph)c;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original,
				CUgraph clone)
{
	struct sgpu_graph *g;
	struct sgpu_node *n, *found;
	CUresult rc = enter_graph(clone, &g);

	if (rc)
		return rc;
	n = sgpu_obj_get(SGPU_NODE, original);
	found = n ? sgpu_graph_find(g, n->obj.id) : NULL;
	if (out)
		*out = (CUgraphNode)found;
	return sgpu_leave(out && found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphDestroyNode(CUgraphNode handle)
{
	struct sgpu_node *n;
	CUresult rc = enter_node(handle, &n);

	if (rc)
		return rc;
	if (n->graph->memory || n->graph->capturing)
		return sgpu_leave(CUDA_ERROR_NOT_SUPPORTED);
	sgpu_node_free(n);
	sgpu_userobj_reap();
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
	struct sgpu_node *n;
	CUresult rc = enter_node(handle, &n);

	if (rc)
		return rc;
	if (!type)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*type = n->type;
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- exported: edges ---- */

static CUresult edge_change(struct sgpu_graph *g, CUgraphNode from_handle,
			    CUgraphNode to_handle, const CUgraphEdgeData *data,
			    bool add)
{
	struct sgpu_node *from = sgpu_obj_get(SGPU_NODE, from_handle);
	struct sgpu_node *to = sgpu_obj_get(SGPU_NODE, to_handle);
	int i;

	if (!from || !to || from == to || from->graph != g || to->graph != g)
		return CUDA_ERROR_INVALID_VALUE;
	i = dep_index(to, from);
	if (add)
		return i < 0 ? dep_add(to, from, data) : CUDA_ERROR_INVALID_VALUE;
	if (i < 0)
		return CUDA_ERROR_INVALID_VALUE;
	dep_remove(to, i);
	return CUDA_SUCCESS;
}

static CUresult edges_change(CUgraph handle, const CUgraphNode *from,
			     const CUgraphNode *to, const CUgraphEdgeData *data,
			     size_t n, bool add)
{
	struct sgpu_graph *g;
	CUresult rc = enter_graph(handle, &g);

	if (rc)
		return rc;
	if (n && (!from || !to))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (g->memory && !add)
		return sgpu_leave(CUDA_ERROR_NOT_SUPPORTED);
	for (size_t i = 0; !rc && i < n; i++)
		rc = edge_change(g, from[i], to[i], data ? &data[i] : NULL, add);
	return sgpu_leave(rc);
}

CUresult cuGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from,
				   const CUgraphNode *to,
				   const CUgraphEdgeData *data, size_t n)
{
	return edges_change(g, from, to, data, n, true);
}

CUresult cuGraphAddDependencies(CUgraph g, const CUgraphNode *from,
				const CUgraphNode *to, size_t n)
{
	return edges_change(g, from, to, NULL, n, true);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from,
				      const CUgraphNode *to,
				      const CUgraphEdgeData *data, size_t n)
{
	return edges_change(g, from, to, data, n, false);
}

CUresult cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from,
				   const CUgraphNode *to, size_t n)
{
	return edges_change(g, from, to, NULL, n, false);
}

/* ---- exported: lists; each call fills what fits and clears the remaining elements ---- */

struct list {
	CUgraphNode *from, *to;
	CUgraphEdgeData *data;
	size_t room, n;
};

static void list_put(struct list *l, const struct sgpu_node *from,
		     const struct sgpu_node *to, const CUgraphEdgeData *data)
{
	if (l->n < l->room) {
		if (l->from)
			l->from[l->n] = (CUgraphNode)from;
		if (l->to)
			l->to[l->n] = (CUgraphNode)to;
		if (l->data)
			l->data[l->n] = data ? *data : (CUgraphEdgeData){ 0 };
	}
	l->n++;
}

static void list_end(struct list *l, size_t *count)
{
	size_t have = l->n;

	while (l->n < l->room)
		list_put(l, NULL, NULL, NULL);
	/*
	 * A call without arrays asks for the number only. A call with more room than
	 * elements learns how many there are.
	 */
	*count = !l->from && !l->to ? have : have < l->room ? have : l->room;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
	struct list l = { .from = nodes };
	struct sgpu_graph *g;
	CUresult rc = enter_graph(handle, &g);

	if (rc)
		return rc;
	if (!count)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	l.room = nodes ? *count : 0;
	for (unsigned int i = 0; i < g->nodes.n; i++)
		list_put(&l, g->nodes.v[i], NULL, NULL);
	list_end(&l, count);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
	struct list l = { .from = nodes };
	struct sgpu_graph *g;
	CUresult rc = enter_graph(handle, &g);

	if (rc)
		return rc;
	if (!count)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	l.room = nodes ? *count : 0;
	for (unsigned int i = 0; i < g->nodes.n; i++)
		if (!g->nodes.v[i]->ndeps)
			list_put(&l, g->nodes.v[i], NULL, NULL);
	list_end(&l, count);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to,
			    CUgraphEdgeData *data, size_t *count)
{
	struct list l = { from, to, data, 0, 0 };
	struct sgpu_graph *g;
	CUresult rc = enter_graph(handle, &g);

	if (rc)
		return rc;
	if (!count || !from != !to)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	l.room = from ? *count : 0;
	for (unsigned int i = 0; i < g->nodes.n; i++) {
		const struct sgpu_node *n = g->nodes.v[i];

		for (unsigned int k = 0; k < n->ndeps; k++)
			list_put(&l, n->dep[k].from, n, &n->dep[k].data);
	}
	list_end(&l, count);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to,
			 size_t *count)
{
	return cuGraphGetEdges_v2(g, from, to, NULL, count);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode *deps,
				       CUgraphEdgeData *data, size_t *count)
{
	struct list l = { deps, NULL, data, 0, 0 };
	struct sgpu_node *n;
	CUresult rc = enter_node(handle, &n);

	if (rc)
		return rc;
	if (!count)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	l.room = deps ? *count : 0;
	for (unsigned int k = 0; k < n->ndeps; k++)
		list_put(&l, n->dep[k].from, NULL, &n->dep[k].data);
	list_end(&l, count);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode n, CUgraphNode *deps,
				    size_t *count)
{
	return cuGraphNodeGetDependencies_v2(n, deps, NULL, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode *out,
					 CUgraphEdgeData *data, size_t *count)
{
	struct list l = { out, NULL, data, 0, 0 };
	struct sgpu_node *n;
	CUresult rc = enter_node(handle, &n);

	if (rc)
		return rc;
	if (!count)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	l.room = out ? *count : 0;
	for (unsigned int i = 0; i < n->graph->nodes.n; i++) {
		const struct sgpu_node *to = n->graph->nodes.v[i];
		int k = dep_index(to, n);

		if (k >= 0)
			list_put(&l, to, NULL, &to->dep[k].data);
	}
	list_end(&l, count);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode n, CUgraphNode *out,
				      size_t *count)
{
	return cuGraphNodeGetDependentNodes_v2(n, out, NULL, count);
}
