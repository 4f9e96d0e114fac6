// SPDX-License-Identifier: Apache-2.0
/*
 * User objects: counted references that graphs hold and pass on to their copies, and a
 * destructor that runs without the lock when no reference is left.
 */
#include <stdlib.h>

#include "graph.h"

static struct sgpu_userobj *dead;

static void put(struct sgpu_userobj *o, uint64_t count)
{
	o->refs -= count;
	if (o->refs)
		return;
	o->next_dead = dead;
	dead = o;
}

void sgpu_userobj_reap(void)
{
	struct sgpu_userobj *o;
	CUhostFn destroy;
	void *arg;

	while ((o = dead)) {
		dead = o->next_dead;
		destroy = o->destroy;
		arg = o->arg;
		sgpu_obj_free(o);
		sgpu_call_out(destroy, arg);
	}
}

void sgpu_holds_drop(struct sgpu_graph *g)
{
	for (unsigned int i = 0; i < g->nholds; i++)
		put(g->hold[i].object, g->hold[i].count);
	free(g->hold);
	g->hold = NULL;
	g->nholds = 0;
}

static bool hold(struct sgpu_graph *g, struct sgpu_userobj *o, uint64_t count)
{
	struct sgpu_hold *grown;

	for (unsigned int i = 0; i < g->nholds; i++) {
		if (g->hold[i].object == o) {
			g->hold[i].count += count;
			return true;
		}
	}
	grown = realloc(g->hold, (g->nholds + 1) * sizeof(*grown));
	if (!grown)
		return false;
	g->hold = grown;
	g->hold[g->nholds++] = (struct sgpu_hold){ o, count };
	return true;
}

void sgpu_holds_copy(struct sgpu_graph *to, const struct sgpu_graph *from)
{
	for (unsigned int i = 0; i < from->nholds; i++)
		if (hold(to, from->hold[i].object, from->hold[i].count))
			from->hold[i].object->refs += from->hold[i].count;
}

CUresult cuUserObjectCreate(CUuserObject *out, void *ptr, CUhostFn destroy,
			    unsigned int refs, unsigned int flags)
{
	CUresult rc = sgpu_beside_global();
	struct sgpu_userobj *o;

	if (rc)
		return rc;
	if (!out || !destroy || !refs || refs > INT32_MAX ||
	    flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	o = sgpu_obj_new(SGPU_USEROBJ);
	if (!o)
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	o->refs = refs;
	o->destroy = destroy;
	o->arg = ptr;
	*out = (CUuserObject)o;
	return sgpu_leave(CUDA_SUCCESS);
}

static CUresult enter_object(CUuserObject handle, unsigned int count,
			     struct sgpu_userobj **o)
{
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	*o = sgpu_obj_get(SGPU_USEROBJ, handle);
	if (!*o || !count || count > INT32_MAX)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count)
{
	struct sgpu_userobj *o;
	CUresult rc = enter_object(handle, count, &o);

	if (rc)
		return rc;
	o->refs += count;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count)
{
	struct sgpu_userobj *o;
	CUresult rc = enter_object(handle, count, &o);

	if (rc)
		return rc;
	if (count > o->refs)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	put(o, count);
	sgpu_userobj_reap();
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject handle,
				 unsigned int count, unsigned int flags)
{
	struct sgpu_graph *g;
	struct sgpu_userobj *o;
	CUresult rc = enter_object(handle, count, &o);

	if (rc)
		return rc;
	g = sgpu_obj_get(SGPU_GRAPH, graph);
	if (!g || flags & ~CU_GRAPH_USER_OBJECT_MOVE ||
	    (flags & CU_GRAPH_USER_OBJECT_MOVE && count > o->refs))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (!hold(g, o, count))
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
		o->refs += count;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject handle,
				  unsigned int count)
{
	struct sgpu_graph *g;
	struct sgpu_userobj *o;
	CUresult rc = enter_object(handle, count, &o);

	if (rc)
		return rc;
	g = sgpu_obj_get(SGPU_GRAPH, graph);
	for (unsigned int i = 0; g && i < g->nholds; i++) {
		if (g->hold[i].object != o || g->hold[i].count < count)
			continue;
		g->hold[i].count -= count;
		if (!g->hold[i].count)
			g->hold[i] = g->hold[--g->nholds];
		put(o, count);
		sgpu_userobj_reap();
		return sgpu_leave(CUDA_SUCCESS);
	}
	return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
}
