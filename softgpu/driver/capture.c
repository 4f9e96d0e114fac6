// SPDX-License-Identifier: Apache-2.0
/*
 * Stream capture: while a stream captures, work that is submitted to it becomes nodes of a
 * graph. Another stream joins the capture by waiting for an event that was recorded in it.
 * All joined streams must have been joined again when the capture ends.
 */
#include <pthread.h>
#include <stdlib.h>

#include "graph.h"

struct sgpu_capture {
	struct sgpu_capture *next;
	uint64_t id;
	struct sgpu_graph *graph;
	bool own_graph;		/* the capture created the graph itself */
	bool invalid;
	CUstreamCaptureMode mode;
	struct sgpu_stream *origin;
	pthread_t thread;
};

unsigned int sgpu_captures;
static struct sgpu_capture *captures;
static __thread CUstreamCaptureMode thread_mode
	__attribute__((tls_model("initial-exec")));

/* ---- rules ---- */

static bool blocks_legacy(const struct sgpu_stream *s)
{
	return !(s->flags & CU_STREAM_NON_BLOCKING);
}

static void invalidate_blocking(void *object, void *ctx)
{
	struct sgpu_stream *s = object;

	if (s->ctx == ctx && s->capture && blocks_legacy(s))
		s->capture->invalid = true;
}

struct search {
	struct sgpu_ctx *ctx;
	bool found;
};

static void find_blocking(void *object, void *arg)
{
	struct sgpu_stream *s = object;
	struct search *f = arg;

	f->found |= s->ctx == f->ctx && s->capture && blocks_legacy(s);
}

/* The legacy stream would have to wait for work that is captured and never runs. */
static bool legacy_would_wait(struct sgpu_ctx *ctx)
{
	struct search f = { .ctx = ctx };

	sgpu_obj_each(SGPU_STREAM, find_blocking, &f);
	return f.found;
}

CUresult sgpu_capture_find(struct sgpu_ctx *ctx, CUstream handle,
			   struct sgpu_stream **out)
{
	struct sgpu_stream *s = sgpu_stream_get(ctx, handle);

	if (!s)
		return CUDA_ERROR_INVALID_HANDLE;
	if (s->capture) {
		*out = s;
		return s->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED :
					     CUDA_SUCCESS;
	}
	if (s == s->ctx->legacy && legacy_would_wait(s->ctx)) {
		sgpu_obj_each(SGPU_STREAM, invalidate_blocking, s->ctx);
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	return CUDA_SUCCESS;
}

CUresult sgpu_capture_unsafe_call(void)
{
	struct sgpu_capture *c;

	for (c = captures; c; c = c->next) {
		bool mine = pthread_equal(c->thread, pthread_self());
		bool global = thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
			      c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
		bool local = thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
			     c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && mine;

		if (!global && !local)
			continue;
		c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return CUDA_SUCCESS;
}

CUresult sgpu_capture_break(struct sgpu_stream *s)
{
	s->capture->invalid = true;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* ---- nodes ---- */

static CUresult new_node(struct sgpu_stream *s, CUgraphNodeType type,
			 struct sgpu_node **n)
{
	return sgpu_node_new(s->capture->graph, type, s->ctx,
			     (CUgraphNode *)s->front.v, NULL, s->front.n, n);
}

/* The node is complete: what comes next in this stream depends on it. */
static CUresult added(struct sgpu_stream *s, struct sgpu_node *n, CUresult rc)
{
	if (rc) {
		sgpu_node_free(n);
		return rc;
	}
	s->front.n = 0;
	return sgpu_nodes_add(&s->front, n) ? CUDA_SUCCESS :
					      CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult capture(struct sgpu_stream *s, const CUgraphNodeParams *p)
{
	struct sgpu_node *n;
	CUresult rc = new_node(s, p->type, &n);

	return rc ? rc : added(s, n, sgpu_node_set(n, p));
}

CUresult sgpu_capture_copy(struct sgpu_stream *s, const CUDA_MEMCPY3D *c)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

	p.memcpy.copyParams = *c;
	return capture(s, &p);
}

CUresult sgpu_capture_fill(struct sgpu_stream *s,
			   const CUDA_MEMSET_NODE_PARAMS *f)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEMSET };

	p.memset.dst = f->dst;
	p.memset.pitch = f->pitch;
	p.memset.value = f->value;
	p.memset.elementSize = f->elementSize;
	p.memset.width = f->width;
	p.memset.height = f->height;
	p.memset.ctx = (CUcontext)s->ctx;
	return capture(s, &p);
}

CUresult sgpu_capture_kernel(struct sgpu_stream *s, const void *handle,
			     const struct sgpu_launch *l)
{
	struct sgpu_node *n;
	CUresult rc = new_node(s, CU_GRAPH_NODE_TYPE_KERNEL, &n);

	if (rc)
		return rc;
	rc = sgpu_node_kernel(n, handle, l);
	if (!rc)
		n->kernel.by_kernel = sgpu_obj_get(SGPU_KERNEL, handle);
	return added(s, n, rc);
}

CUresult sgpu_capture_host(struct sgpu_stream *s, CUhostFn fn, void *arg)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_HOST };

	p.host.fn = fn;
	p.host.userData = arg;
	return capture(s, &p);
}

CUresult sgpu_capture_alloc(struct sgpu_stream *s,
			    const CUDA_MEM_ALLOC_NODE_PARAMS *a,
			    CUdeviceptr *addr)
{
	struct sgpu_node *n;
	CUresult rc = new_node(s, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &n);

	if (!rc)
		rc = added(s, n, sgpu_node_alloc(n, a));
	if (rc)
		return rc;
	s->capture->graph->memory = true;
	*addr = n->alloc->addr;
	return CUDA_SUCCESS;
}

CUresult sgpu_capture_free(struct sgpu_stream *s, CUdeviceptr addr)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };

	p.free.dptr = addr;
	s->capture->graph->memory = true;
	return capture(s, &p);
}

/* ---- events ---- */

CUresult sgpu_capture_record(struct sgpu_stream *s, struct sgpu_event *e,
			     bool external)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };

	if (external) {
		p.eventRecord.event = (CUevent)e;
		return capture(s, &p);
	}
	e->front.n = 0;
	if (!sgpu_nodes_join(&e->front, &s->front))
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->capture = s->capture->id;
	return CUDA_SUCCESS;
}

static struct sgpu_capture *capture_by_id(uint64_t id)
{
	struct sgpu_capture *c = captures;

	while (c && c->id != id)
		c = c->next;
	return c;
}

/* @s either captures already, or joins the capture of the event. */
CUresult sgpu_capture_wait(struct sgpu_stream *s, struct sgpu_event *e,
			   bool external)
{
	struct sgpu_capture *c = e->capture ? capture_by_id(e->capture) : NULL;
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT };

	if (!s->capture && !e->capture)
		return CUDA_SUCCESS;
	if (e->capture && !c)
		return CUDA_ERROR_CAPTURED_EVENT;
	if (s->capture && !c && external) {
		p.eventWait.event = (CUevent)e;
		return capture(s, &p);
	}
	if (!c) {
		s->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (c->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (s->capture && s->capture != c) {
		s->capture->invalid = true;
		c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (s == s->ctx->legacy) {
		c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (!s->capture)
		s->front.n = 0;
	s->capture = c;
	return sgpu_nodes_join(&s->front, &e->front) ? CUDA_SUCCESS :
						       CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- begin and end ---- */

static CUresult begin(struct sgpu_stream *s, CUstreamCaptureMode mode,
		      struct sgpu_graph *g)
{
	struct sgpu_capture *c;

	if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (s == s->ctx->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->own_graph = !g;
	c->graph = g ? g : sgpu_graph_new();
	if (!c->graph) {
		free(c);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	c->graph->owned = true;
	c->graph->capturing = true;
	c->id = sgpu_new_id();
	c->mode = mode;
	c->origin = s;
	c->thread = pthread_self();
	c->next = captures;
	captures = c;
	sgpu_captures++;
	s->capture = c;
	s->front.n = 0;
	return CUDA_SUCCESS;
}

static void leave(void *object, void *capture)
{
	struct sgpu_stream *s = object;

	if (s->capture != capture)
		return;
	s->capture = NULL;
	s->front.n = 0;
}

/* Takes the capture off all streams. The graph belongs to the caller from then on. */
static struct sgpu_graph *end(struct sgpu_capture *c)
{
	struct sgpu_graph *g = c->graph;
	struct sgpu_capture **p = &captures;

	sgpu_obj_each(SGPU_STREAM, leave, c);
	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	sgpu_captures--;
	g->owned = g->holder;	/* the body of a conditional node stays its own */
	g->capturing = false;
	free(c);
	return g;
}

static void mark_before(struct sgpu_node *n)
{
	if (n->mark)
		return;
	n->mark = true;
	for (unsigned int i = 0; i < n->ndeps; i++)
		mark_before(n->dep[i].from);
}

struct join {
	struct sgpu_capture *capture;
	bool open;
};

static void find_open(void *object, void *arg)
{
	struct sgpu_stream *s = object;
	struct join *j = arg;

	if (s->capture != j->capture || s == j->capture->origin)
		return;
	for (unsigned int i = 0; i < s->front.n; i++)
		j->open |= !s->front.v[i]->mark;
}

/* Returns true if another stream has work that the origin does not wait for. */
static bool unjoined(struct sgpu_capture *c)
{
	struct sgpu_stream *s = c->origin;
	struct join j = { c, false };

	for (unsigned int i = 0; i < c->graph->nodes.n; i++)
		c->graph->nodes.v[i]->mark = false;
	for (unsigned int i = 0; i < s->front.n; i++)
		mark_before(s->front.v[i]);
	sgpu_obj_each(SGPU_STREAM, find_open, &j);
	return j.open;
}

static CUresult stop(struct sgpu_stream *s, CUgraph *out)
{
	struct sgpu_capture *c = s->capture;
	CUresult rc = CUDA_SUCCESS;
	bool own_graph;
	struct sgpu_graph *g;

	*out = NULL;
	if (!c)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (c->origin != s) {
		c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	/*
	 * A call from a wrong thread ends the capture as well, but gets no graph. NVIDIA's
	 * driver does the same.
	 */
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
	    !pthread_equal(c->thread, pthread_self()))
		rc = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	else if (c->invalid)
		rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (unjoined(c))
		rc = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	own_graph = c->own_graph;
	g = end(c);
	if (!rc)
		*out = (CUgraph)g;
	else if (own_graph)
		sgpu_graph_free(g);
	return rc;
}

/* A stream is destroyed. If it is the origin, the capture ends; if not, the capture is invalid. */
void sgpu_capture_leave(struct sgpu_stream *s)
{
	struct sgpu_capture *c = s->capture;
	struct sgpu_graph *g;
	bool own_graph;

	if (c && c->origin == s) {
		own_graph = c->own_graph;
		g = end(c);
		if (own_graph)
			sgpu_graph_free(g);
	} else if (c) {
		c->invalid = true;
		s->capture = NULL;
	}
	sgpu_nodes_clear(&s->front);
}

/* ---- exported ---- */

static CUresult enter_stream(CUstream handle, struct sgpu_stream **s)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	*s = sgpu_stream_get(ctx, handle);
	return *s ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	struct sgpu_stream *s;
	CUresult rc = enter_stream(stream, &s);

	return rc ? rc : sgpu_leave(begin(s, mode, NULL));
}

CUresult cuStreamBeginCapture(CUstream stream)
{
	return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static CUresult set_front(struct sgpu_stream *s, const CUgraphNode *deps,
			  size_t n, bool add)
{
	struct sgpu_nodes given = { (struct sgpu_node **)deps, n, n };

	if (n && !deps)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		struct sgpu_node *d = sgpu_obj_get(SGPU_NODE, deps[i]);

		if (!d || d->graph != s->capture->graph)
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!add)
		s->front.n = 0;
	return sgpu_nodes_join(&s->front, &given) ? CUDA_SUCCESS :
						    CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
				     const CUgraphNode *deps,
				     const CUgraphEdgeData *edges, size_t n,
				     CUstreamCaptureMode mode)
{
	struct sgpu_stream *s;
	struct sgpu_graph *g;
	CUresult rc = enter_stream(stream, &s);

	(void)edges;
	if (rc)
		return rc;
	g = sgpu_obj_get(SGPU_GRAPH, graph);
	if (!g || g->capturing || (g->owned && !g->holder))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = begin(s, mode, g);
	if (!rc) {
		rc = set_front(s, deps, n, false);
		if (rc)
			end(s->capture);
	}
	return sgpu_leave(rc);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *out)
{
	struct sgpu_stream *s;
	CUresult rc = enter_stream(stream, &s);

	if (rc)
		return rc;
	if (!out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = stop(s, out);
	sgpu_userobj_reap();
	return sgpu_leave(rc);
}

static CUstreamCaptureStatus status_of(const struct sgpu_stream *s)
{
	return !s->capture ? CU_STREAM_CAPTURE_STATUS_NONE :
	       s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED :
				     CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* The legacy stream cannot be queried while another one blocks it. That ends no capture. */
static CUresult enter_ask(CUstream stream, const void *arg,
			  struct sgpu_stream **s)
{
	CUresult rc = enter_stream(stream, s);

	if (rc)
		return rc;
	if (!arg)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (sgpu_captures && *s == (*s)->ctx->legacy && legacy_would_wait((*s)->ctx))
		return sgpu_leave(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	struct sgpu_stream *s;
	CUresult rc = enter_ask(stream, status, &s);

	if (rc)
		return rc;
	*status = status_of(s);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream,
				   CUstreamCaptureStatus *status,
				   cuuint64_t *id, CUgraph *graph,
				   const CUgraphNode **deps, size_t *ndeps)
{
	struct sgpu_stream *s;
	CUresult rc = enter_ask(stream, status, &s);

	if (rc)
		return rc;
	*status = status_of(s);
	if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return sgpu_leave(CUDA_SUCCESS);
	if (id)
		*id = s->capture->id;
	if (graph)
		*graph = (CUgraph)s->capture->graph;
	if (deps)
		*deps = (CUgraphNode *)s->front.v;
	if (ndeps)
		*ndeps = s->front.n;
	return sgpu_leave(CUDA_SUCCESS);
}

/* Every edge has the default type, so no edge has data. */
CUresult cuStreamGetCaptureInfo_v3(CUstream stream,
				   CUstreamCaptureStatus *status,
				   cuuint64_t *id, CUgraph *graph,
				   const CUgraphNode **deps,
				   const CUgraphEdgeData **edges, size_t *ndeps)
{
	if (edges)
		*edges = NULL;
	return cuStreamGetCaptureInfo_v2(stream, status, id, graph, deps, ndeps);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status,
				cuuint64_t *id)
{
	return cuStreamGetCaptureInfo_v2(stream, status, id, NULL, NULL, NULL);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream,
					      CUgraphNode *deps,
					      const CUgraphEdgeData *edges,
					      size_t n, unsigned int flags)
{
	struct sgpu_stream *s;
	CUresult rc = enter_stream(stream, &s);

	(void)edges;
	if (rc)
		return rc;
	if (flags & ~CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (status_of(s) != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return sgpu_leave(CUDA_ERROR_ILLEGAL_STATE);
	return sgpu_leave(set_front(s, deps, n, !flags));
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *deps,
					   size_t n, unsigned int flags)
{
	return cuStreamUpdateCaptureDependencies_v2(stream, deps, NULL, n, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = thread_mode;
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	thread_mode = *mode;
	*mode = old;
	return sgpu_leave(CUDA_SUCCESS);
}
