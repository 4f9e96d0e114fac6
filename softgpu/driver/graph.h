/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of graphs share: graph.c (structure), graph_node.c (what a
 * node does), graph_node_calls.c (the calls of each type), conditional.c, graph_exec.c
 * (executable graphs), graph_run.c (their launches), capture.c and userobj.c. All of it runs
 * under the lock of driver.c.
 */
#ifndef WORMHOLE_SOFTGPU_GRAPH_H
#define WORMHOLE_SOFTGPU_GRAPH_H

#include "driver.h"

struct sgpu_edge {
	struct sgpu_node *from;
	CUgraphEdgeData data;
};

/* Memory of an allocation node: its address is fixed when the node is made. */
struct sgpu_galloc {
	uint64_t addr;
	CUDA_MEM_ALLOC_NODE_PARAMS params;
	unsigned int refs;	/* number of nodes that name it */
	bool live;		/* a launch allocated it, and nothing has freed it since */
};

struct sgpu_kernel_node {
	const void *handle;	/* the CUfunction or CUkernel that the caller gave */
	bool by_kernel;		/* the caller gave it as `kern` */
	struct sgpu_launch launch;
	uint64_t func_id;	/* of launch.func, whose slot another function may get */
	void **args;		/* one block: addresses first, then the bytes */
	char *bytes;
	CUlaunchAttributeValue *attr;	/* indexed by attribute; NULL: none was set */
};

struct sgpu_cond_node {
	struct sgpu_cond *cond;
	CUgraphConditionalNodeType type;
	unsigned int size;
	struct sgpu_graph **body;	/* @size; the client's array of handles, too */
	bool original;			/* no copy: the condition is free again when it ends */
};

struct sgpu_node {
	struct sgpu_obj obj;
	struct sgpu_graph *graph;
	CUgraphNodeType type;
	bool disabled;		/* used in an executable graph only */
	bool mark;		/* scratch flag of a walk over the graph */
	uint64_t origin;	/* id of the node that this one was copied from */
	struct sgpu_ctx *ctx;
	struct sgpu_edge *dep;
	unsigned int ndeps, dep_room;
	union {
		struct sgpu_kernel_node kernel;
		CUDA_MEMCPY3D copy;
		CUDA_MEMSET_NODE_PARAMS fill;
		CUDA_HOST_NODE_PARAMS host;
		struct sgpu_graph *child;
		CUevent event;
		struct sgpu_galloc *alloc;
		struct sgpu_cond_node cond;
		uint64_t free;
	};
};

/* Size of the union. Its types are plain data, or the node owns what they point to. */
#define SGPU_NODE_BODY	(sizeof(struct sgpu_node) - \
			 offsetof(struct sgpu_node, kernel))

struct sgpu_userobj {
	struct sgpu_obj obj;
	uint64_t refs;
	CUhostFn destroy;
	void *arg;
	struct sgpu_userobj *next_dead;
};

struct sgpu_hold {
	struct sgpu_userobj *object;
	uint64_t count;
};

struct sgpu_graph {
	struct sgpu_obj obj;
	struct sgpu_nodes nodes;
	struct sgpu_hold *hold;
	unsigned int nholds;
	bool owned;		/* a node, an executable graph or a capture owns it */
	bool capturing;
	bool memory;		/* has allocation or free nodes */
	bool conditional;	/* has conditional nodes */
	bool conditions;	/* conditions were made for it */
	struct sgpu_node *holder;	/* the conditional node whose body it is */
};

struct sgpu_exec {
	struct sgpu_obj obj;
	struct sgpu_graph *graph;	/* a copy; it and its children are sorted */
	unsigned long long flags;
	unsigned int running;
	uint64_t last;		/* ticket of its last launch (queue.h) */
	bool dying;
};

/* ---- graph.c ---- */

struct sgpu_graph *sgpu_graph_new(void);
/* Frees a graph with its nodes, children and references. */
void sgpu_graph_free(struct sgpu_graph *g);
/* Copies a graph. Its nodes remember their origins. Returns NULL if there is no memory. */
struct sgpu_graph *sgpu_graph_copy(const struct sgpu_graph *g);
/* Sorts nodes behind those that they depend on. Returns false if there is a cycle. */
bool sgpu_graph_sort(struct sgpu_graph *g);
struct sgpu_node *sgpu_graph_find(const struct sgpu_graph *g, uint64_t origin);
/* Makes a node without parameters that depends on @deps. */
CUresult sgpu_node_new(struct sgpu_graph *g, CUgraphNodeType type,
		       struct sgpu_ctx *ctx, const CUgraphNode *deps,
		       const CUgraphEdgeData *edges, size_t n,
		       struct sgpu_node **out);
void sgpu_node_free(struct sgpu_node *n);
bool sgpu_nodes_add(struct sgpu_nodes *s, struct sgpu_node *n);
/* Adds the nodes that are not in @to yet. */
bool sgpu_nodes_join(struct sgpu_nodes *to, const struct sgpu_nodes *from);

/* ---- graph_node.c ---- */

/* Returns INVALID_VALUE if @p is NULL, as other calls do. */
CUresult sgpu_node_add(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
		       const CUgraphEdgeData *edges, size_t ndeps,
		       const CUgraphNodeParams *p);
/* Takes the parameters of a node's own type. If it fails, the node is unchanged. */
CUresult sgpu_node_set(struct sgpu_node *n, const CUgraphNodeParams *p);
/* Makes a node do the same as another node of its type. */
CUresult sgpu_node_take(struct sgpu_node *to, const struct sgpu_node *from);
void sgpu_node_drop(struct sgpu_node *n);
CUresult sgpu_node_kernel(struct sgpu_node *n, const void *handle,
			  const struct sgpu_launch *l);

/* ---- conditional.c ---- */

/* The graph ends: conditions without a node end with it. */
void sgpu_conds_drop(struct sgpu_graph *g);
CUresult sgpu_cond_node(struct sgpu_node *n, const CUDA_CONDITIONAL_NODE_PARAMS *p);
void sgpu_cond_node_drop(struct sgpu_node *n);
CUresult sgpu_cond_node_take(struct sgpu_node *to, const struct sgpu_node *from);
/* May the graph become executable, as far as conditions are concerned? */
CUgraphInstantiateResult sgpu_conds_check(const struct sgpu_graph *g);
/* Its conditions belong to an executable graph, or no longer. */
void sgpu_conds_ready(struct sgpu_graph *g, bool on);
/* A launch begins. */
void sgpu_conds_begin(struct sgpu_graph *g);
/* Returns the body to run now, or NULL; @again: a body of this node has run. */
struct sgpu_graph *sgpu_cond_next(const struct sgpu_node *n, bool again);

/* ---- graph_exec.c ---- */

CUresult sgpu_node_alloc(struct sgpu_node *n, const CUDA_MEM_ALLOC_NODE_PARAMS *p);
void sgpu_galloc_put(struct sgpu_galloc *a);
void sgpu_exec_end(struct sgpu_exec *x);

/* ---- userobj.c ---- */

void sgpu_holds_copy(struct sgpu_graph *to, const struct sgpu_graph *from);
void sgpu_holds_drop(struct sgpu_graph *g);
/* Calls the destructors that are due. It releases the lock during each. */
void sgpu_userobj_reap(void);

#endif
