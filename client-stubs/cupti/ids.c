// SPDX-License-Identifier: Apache-2.0
/*
 * The numbers by which records name contexts, streams and graphs. They are those of the worker's
 * CUPTI, as they are in its records.
 */
#include "cupti_stub.h"

#include <stdlib.h>

static CUptiResult ask(uint32_t what, CUcontext ctx, const void *handle, uint64_t *id)
{
	const struct wh_rsp_whCuptiId *r;
	struct wh_req_whCuptiId *q;
	struct wh_call c;
	CUptiResult res;

	q = wh_cupti_begin(&c, WH_CALL_whCuptiId, sizeof(*q));
	if (!q)
		return wh_cupti_lost(c.result);
	q->what = what;
	q->resv = 0;
	q->ctx = (uintptr_t)ctx;
	q->handle = (uintptr_t)handle;
	res = wh_cupti_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUPTI_SUCCESS)
		*id = r->id;
	wh_end(&c);
	return res;
}

static CUptiResult ask_short(uint32_t what, CUcontext ctx, const void *handle, uint32_t *id)
{
	uint64_t wide = 0;
	CUptiResult res;

	if (!id)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	res = ask(what, ctx, handle, &wide);
	if (res == CUPTI_SUCCESS)
		*id = wide;
	return cu_ret(res);
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
	return ask_short(WH_CUPTI_CONTEXT, context, NULL, contextId);
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
			       uint32_t *streamId)
{
	const void *there;

	CU_OWN_CALL(there = (const void *)(uintptr_t)wh_library_stream(stream));
	return ask_short(perThreadStream ? WH_CUPTI_STREAM_PER_THREAD : WH_CUPTI_STREAM, context,
			 there, streamId);
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
	return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
	return ask_short(WH_CUPTI_GRAPH, NULL, graph, pId);
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
	return ask_short(WH_CUPTI_GRAPH_EXEC, NULL, graphExec, pId);
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
	return cu_ret(nodeId ? ask(WH_CUPTI_NODE, NULL, node, nodeId) :
		      CUPTI_ERROR_INVALID_PARAMETER);
}

static CUresult device_of(CUcontext context, CUdevice *dev)
{
	CUcontext before = NULL;
	CUresult res = context ? cuCtxPushCurrent(context) : CUDA_SUCCESS;

	if (res != CUDA_SUCCESS)
		return res;
	res = cuCtxGetDevice(dev);
	if (context)
		cuCtxPopCurrent(&before);
	return res;
}

/* A context's device has the program's number already. */
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
	CUdevice dev;
	CUresult res;

	if (!deviceId)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	CU_OWN_CALL(res = device_of(context, &dev));
	if (res != CUDA_SUCCESS)
		return cu_ret(CUPTI_ERROR_INVALID_CONTEXT);
	*deviceId = dev;
	return CUPTI_SUCCESS;
}

/* --- Numbers of contexts in callbacks ------------------------------------------------- */

/* A program has few contexts: a list of those that callbacks have named. */
struct numbered {
	struct numbered *next;
	CUcontext ctx;
	uint32_t uid;
};
static struct numbered *contexts;
static uint32_t last_uid;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Handles of the parent's worker are not those of the child's. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	contexts = NULL;
}
WH_IN_CHILD(in_child())

/* The lock is held. */
static struct numbered **place_of(CUcontext ctx)
{
	struct numbered **p = &contexts;

	while (*p && (*p)->ctx != ctx)
		p = &(*p)->next;
	return p;
}

/* Returns the number that is kept, or keeps and returns `uid`. */
static uint32_t keep(CUcontext ctx, uint32_t uid)
{
	struct numbered **p, *n;

	pthread_mutex_lock(&lock);
	p = place_of(ctx);
	n = *p;
	if (!n && uid) {
		n = malloc(sizeof(*n));
		if (n) {
			*n = (struct numbered) { NULL, ctx, uid };
			*p = n;
		}
	}
	uid = n ? n->uid : uid;
	pthread_mutex_unlock(&lock);
	return uid;
}

uint32_t cu_context_uid(CUcontext ctx)
{
	uint32_t uid = ctx ? keep(ctx, 0) : 0;
	uint64_t wide = 0;

	if (!ctx || uid)
		return uid;
	if (ask(WH_CUPTI_CONTEXT, ctx, NULL, &wide) != CUPTI_SUCCESS || !wide)
		wide = __atomic_add_fetch(&last_uid, 1, __ATOMIC_RELAXED);
	return keep(ctx, wide);
}

void cu_context_forget(CUcontext ctx)
{
	struct numbered **p, *n;

	pthread_mutex_lock(&lock);
	p = place_of(ctx);
	n = *p;
	if (n)
		*p = n->next;
	free(n);
	pthread_mutex_unlock(&lock);
}
