/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: what the files graph.c (structure), graph_node.c (what a node does),
 * graph_node_calls.c (the calls of each type), graph_exec.c (executable graphs),
 * capture.c and userobj.c share. All of it runs under the lock of driver.c.
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
	unsigned int refs;	/* nodes that name it */
	bool live;		/* allocated by a launch, not freed since */
};

struct sgpu_kernel_node {
	const void *handle;	/* CUfunction or CUkernel, as given */
	bool by_kernel;		/* it was given as `kern` */
	struct sgpu_launch launch;
	void **args;		/* one block: addresses, then the bytes */
	char *bytes;
	CUlaunchAttributeValue *attr;	/* by number; NULL: none was set */
};

struct sgpu_node {
	struct sgpu_obj obj;
	struct sgpu_graph *graph;
	CUgraphNodeType type;
	bool disabled;		/* in an executable graph */
	bool mark;		/* of one walk */
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
		uint64_t free;
	};
};

/* The union's size: every type of it is plain data or owned by its node. */
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
	bool owned;		/* by a node, an executable graph or a capture */
	bool capturing;
	bool memory;		/* has allocation or free nodes */
};

struct sgpu_exec {
	struct sgpu_obj obj;
	struct sgpu_graph *graph;	/* a copy; sorted, children too */
	unsigned long long flags;
	unsigned int running;
	bool dying;
};

/* ---- graph.c ---- */

struct sgpu_graph *sgpu_graph_new(void);
/* With its nodes, children and references. */
void sgpu_graph_free(struct sgpu_graph *g);
/* A copy whose nodes remember their origins; NULL when memory is out. */
struct sgpu_graph *sgpu_graph_copy(const struct sgpu_graph *g);
/* Put nodes behind what they depend on; false when there is a cycle. */
bool sgpu_graph_sort(struct sgpu_graph *g);
struct sgpu_node *sgpu_graph_find(const struct sgpu_graph *g, uint64_t origin);
/* A node of no effect yet, behind @deps. */
CUresult sgpu_node_new(struct sgpu_graph *g, CUgraphNodeType type,
		       struct sgpu_ctx *ctx, const CUgraphNode *deps,
		       const CUgraphEdgeData *edges, size_t n,
		       struct sgpu_node **out);
void sgpu_node_free(struct sgpu_node *n);
bool sgpu_nodes_add(struct sgpu_nodes *s, struct sgpu_node *n);
/* Add what is not there yet. */
bool sgpu_nodes_join(struct sgpu_nodes *to, const struct sgpu_nodes *from);

/* ---- graph_node.c ---- */

/* INVALID_VALUE when @p is NULL, as everywhere. */
CUresult sgpu_node_add(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
		       const CUgraphEdgeData *edges, size_t ndeps,
		       const CUgraphNodeParams *p);
/* Take the parameters of a node's own type; on failure it is as before. */
CUresult sgpu_node_set(struct sgpu_node *n, const CUgraphNodeParams *p);
/* The same what another node does; both have one type. */
CUresult sgpu_node_take(struct sgpu_node *to, const struct sgpu_node *from);
void sgpu_node_drop(struct sgpu_node *n);
CUresult sgpu_node_kernel(struct sgpu_node *n, const void *handle,
			  const struct sgpu_launch *l);

/* ---- graph_exec.c ---- */

CUresult sgpu_node_alloc(struct sgpu_node *n, const CUDA_MEM_ALLOC_NODE_PARAMS *p);
void sgpu_galloc_put(struct sgpu_galloc *a);

/* ---- userobj.c ---- */

void sgpu_holds_copy(struct sgpu_graph *to, const struct sgpu_graph *from);
void sgpu_holds_drop(struct sgpu_graph *g);
/* Call the destructors that are due; gives the lock up for each. */
void sgpu_userobj_reap(void);

#endif
