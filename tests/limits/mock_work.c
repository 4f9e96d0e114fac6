// SPDX-License-Identifier: Apache-2.0
/* The part of the mock driver with code, graphs and parts of the SMs. */
#define _GNU_SOURCE
#include "mock_driver.h"

#include <stdbool.h>
#include <time.h>

static uint64_t graph_reserved, graph_idle;
static CUstream capturing;
static struct object *captured;

/* --- Code ---------------------------------------------------------------------------------- */

static uint64_t local_of(const char *image)
{
	const char *own = strstr(image, " own[");

	return own ? strtoull(own + 5, NULL, 10) : 0;
}

/*
 * Takes the memory of the code, and the memory that the code makes its context take. The
 * latter stays without the code.
 */
static CUresult put_into_context(struct object *m)
{
	struct object *c = (struct object *)mock_current;

	if (m->reserved)
		return CUDA_SUCCESS;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!mock_take(MOCK_MODULE))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (m->mallocs && !c->calls) {
		if (!mock_take(MOCK_CALLS)) {
			mock_give(MOCK_MODULE);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		c->calls = MOCK_CALLS;
	}
	m->reserved = m->bytes = MOCK_MODULE;
	return CUDA_SUCCESS;
}

static struct object *code(const char *image)
{
	struct object *m = mock_make(MODULE, 0);

	m->local = local_of(image);
	m->mallocs = strstr(image, "malloc") != NULL;
	return m;
}

static CUresult end_code(void *module)
{
	struct object *m = mock_valid(module, MODULE), *f;

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	for (f = mock_object + 1; f < mock_object + OBJECTS; f++)
		if (f->kind == FUNCTION && f->of == m)
			f->kind = FREE;
	mock_give(m->bytes);
	m->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int n, CUjit_option *o,
			    void **v)
{
	struct object *m = code(image);
	CUresult res = put_into_context(m);

	(void)n;
	(void)o;
	(void)v;
	if (res)
		m->kind = FREE;
	*out = (CUmodule)m;
	return res;
}

/* A library is only loaded when something of it is used. */
CUresult cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *o, void **v,
			   unsigned int n, CUlibraryOption *lo, void **lv, unsigned int ln)
{
	(void)o;
	(void)v;
	(void)n;
	(void)lo;
	(void)lv;
	(void)ln;
	*out = (CUlibrary)code(image);
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary l)
{
	struct object *m = mock_valid(l, MODULE);

	*out = (CUmodule)m;
	return m ? put_into_context(m) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleUnload(CUmodule m)
{
	return end_code(m);
}

CUresult cuLibraryUnload(CUlibrary l)
{
	return end_code(l);
}

/* --- Kernels have no parameters and do nothing --------------------------------------------- */

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
	struct object *m = mock_valid(module, MODULE), *f;

	(void)name;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	f = mock_make(FUNCTION, 0);
	f->of = m;
	*out = (CUfunction)f;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *size)
{
	(void)f;
	(void)i;
	(void)offset;
	(void)size;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f)
{
	*v = a == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES ? (int)((struct object *)f)->of->local : 0;
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **args,
			  void **extra)
{
	struct object *f = mock_valid(function, FUNCTION), *c = (struct object *)mock_current;

	(void)config, (void)args, (void)extra;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	/* The limit is raised to what a kernel needs, and stays there. */
	if (f->of->local > c->stack_limit) {
		if (!mock_stacks((f->of->local - MOCK_STACK) * MOCK_SMS * MOCK_THREADS))
			return CUDA_ERROR_OUT_OF_MEMORY;
		c->stack_limit = f->of->local;
	}
	if (f->of->mallocs && !c->mallocs) {
		if (!mock_take(up(c->heap_limit, BLOCK) + BLOCK))
			return CUDA_ERROR_OUT_OF_MEMORY;
		c->heap = up(c->heap_limit, BLOCK) + BLOCK;
		c->mallocs = 1;
	}
	return CUDA_SUCCESS;
}

/* --- Events: all work is done when it is launched -------------------------------------------- */

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	(void)flags;
	*event = calloc(1, sizeof(struct timespec));
	return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	(void)stream;
	clock_gettime(CLOCK_MONOTONIC, (struct timespec *)event);
	mock_gpu->records++;
	return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
	(void)event;
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	struct timespec a = *(struct timespec *)from, b = *(struct timespec *)to;

	*ms = (float)(1e3 * (double)(b.tv_sec - a.tv_sec) + 1e-6 * (double)(b.tv_nsec - a.tv_nsec));
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event)
{
	free(event);
	return CUDA_SUCCESS;
}

/* --- Graphs ------------------------------------------------------------------------------ */

/*
 * The first launch takes the memory, in a pool's steps. The memory is the graph's as long
 * as something of it is not freed, then any graph's until it is trimmed. What is known of
 * it is kept in the captured graph, which is never forgotten.
 */
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	*status = capturing && stream == capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE :
						     CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
				   CUgraph *graph, const CUgraphNode **nodes, size_t *n)
{
	cuStreamIsCapturing(stream, status);
	*id = 1;
	*graph = (CUgraph)captured;
	*nodes = NULL;
	*n = 0;
	return CUDA_SUCCESS;
}

int mock_captured(CUstream stream, uint64_t bytes, CUdeviceptr *out)
{
	struct object *o;

	if (!capturing || stream != capturing)
		return 0;
	captured->bytes += bytes;
	o = mock_make(OF_GRAPH, bytes);
	o->of = captured;
	*out = o->address;
	return 1;
}

CUresult mock_graph_free(uint64_t address)
{
	struct object *o = mock_at(address, OF_GRAPH);

	if (!o || o->of->used < o->bytes)
		return CUDA_ERROR_INVALID_VALUE;
	o->of->used -= o->bytes;
	return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	(void)mode;
	capturing = stream;
	captured = mock_make(GRAPH, 0);
	return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	(void)stream;
	*graph = (CUgraph)captured;
	capturing = NULL;
	return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct object *o;

	(void)flags;
	if (!mock_valid(graph, GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	o = mock_make(EXEC, 0);
	o->of = (struct object *)graph;
	*exec = (CUgraphExec)o;
	return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct object *o = mock_valid(exec, EXEC), *g = o ? o->of : NULL;
	uint64_t need, idle;

	(void)stream;
	if (!g || g->used)
		return CUDA_ERROR_INVALID_VALUE;
	need = up(g->bytes, MOCK_POOL_STEP);
	if (g->reserved < need) {
		idle = graph_idle < need ? graph_idle : need;
		if (!mock_take(need - idle))
			return CUDA_ERROR_OUT_OF_MEMORY;
		graph_idle -= idle;
		graph_reserved += need - idle;
		g->reserved = need;
	}
	g->used = g->bytes;
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	struct object *o = mock_valid(exec, EXEC);

	if (!o)
		return CUDA_ERROR_INVALID_VALUE;
	if (!o->of->used) {
		graph_idle += o->of->reserved;
		o->of->reserved = 0;
	}
	o->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
	return mock_valid(graph, GRAPH) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The driver calls used whatever is reserved, and answers nothing where no context is current. */
CUresult cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute a, void *value)
{
	(void)dev;
	if (!mock_current)
		return CUDA_ERROR_INVALID_CONTEXT;
	*(cuuint64_t *)value = a == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT ||
			       a == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT ? graph_reserved : 0;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice dev)
{
	struct object *o;

	(void)dev;
	for (o = mock_object + 1; o < mock_object + OBJECTS; o++) {
		if (o->kind != GRAPH || o->used)
			continue;
		graph_idle += o->reserved;
		o->reserved = 0;
	}
	mock_give(graph_idle);
	graph_reserved -= graph_idle;
	graph_idle = 0;
	return CUDA_SUCCESS;
}

/* --- Green contexts ------------------------------------------------------------------------ */

CUresult cuDeviceGetDevResource(CUdevice dev, CUdevResource *r, CUdevResourceType type)
{
	(void)dev;
	memset(r, 0, sizeof(*r));
	r->type = type;
	r->sm.smCount = MOCK_SMS;
	return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *n,
				     const CUdevResource *in, CUdevResource *rest,
				     unsigned int flags, unsigned int least)
{
	const bool loose = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
	const unsigned int step = loose ? 2 : 8;
	unsigned int most, i;

	/*
	 * An H100 behaves so: of the SMs that are scheduled together, more remain than a division
	 * says.
	 */
	least = (least + step - 1) / step * step;
	most = loose ? in->sm.smCount / least : in->sm.smCount / least - 1;
	if (*n > most)
		*n = most;
	for (i = 0; i < *n; i++) {
		result[i] = *in;
		result[i].sm.smCount = least;
	}
	*rest = *in;
	if (*n * least == in->sm.smCount)
		rest->type = CU_DEV_RESOURCE_TYPE_INVALID;
	rest->sm.smCount = in->sm.smCount - *n * least;
	return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *desc, CUdevResource *r, unsigned int n)
{
	uintptr_t sms = 0;

	while (n--)
		sms += r[n].sm.smCount;
	*desc = (CUdevResourceDesc)sms;
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc desc, CUdevice dev, unsigned int flags)
{
	struct object *o = mock_make(CONTEXT, 0);

	(void)dev;
	(void)flags;
	o->reserved = (uintptr_t)desc;
	*out = (CUgreenCtx)o;
	return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext *ctx, CUgreenCtx green)
{
	*ctx = (CUcontext)green;
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
	struct object *o = mock_valid(green, CONTEXT);

	if (!o || !o->reserved)
		return CUDA_ERROR_INVALID_CONTEXT;
	o->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevResource(CUcontext ctx, CUdevResource *r, CUdevResourceType type)
{
	struct object *o = (struct object *)ctx;

	memset(r, 0, sizeof(*r));
	r->type = type;
	r->sm.smCount = o->reserved ? (unsigned int)o->reserved : MOCK_SMS;
	return CUDA_SUCCESS;
}
