// SPDX-License-Identifier: Apache-2.0
/* The mock driver: code, graphs and parts of the SMs. */
#include "mock_driver.h"

static uint64_t graph_reserved;
static CUstream capturing;
static struct object *captured;

/* --- Code ---------------------------------------------------------------------------------- */

static CUresult code(void *out)
{
	if (!mock_take(MOCK_MODULE))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*(void **)out = mock_make(MODULE, MOCK_MODULE);
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int n, CUjit_option *o, void **v)
{
	(void)image;
	(void)n;
	(void)o;
	(void)v;
	return code(out);
}

CUresult cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *o, void **v, unsigned int n,
			   CUlibraryOption *lo, void **lv, unsigned int ln)
{
	(void)lo;
	(void)lv;
	(void)ln;
	return cuModuleLoadDataEx((CUmodule *)out, image, n, o, v);
}

static CUresult end_code(void *m)
{
	struct object *o = mock_valid(m, MODULE);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	mock_give(o->bytes);
	o->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule m)
{
	return end_code(m);
}

CUresult cuLibraryUnload(CUlibrary l)
{
	return end_code(l);
}

/* --- Graphs: their memory is taken at the first launch ------------------------------------- */

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
	if (!capturing || stream != capturing)
		return 0;
	captured->bytes += up(bytes, BLOCK);
	*out = mock_make(GRAPH, bytes)->address;
	return 1;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	(void)mode;
	capturing = stream;
	captured = mock_make(EXEC, 0);
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
	struct object *o = mock_make(EXEC, 0);

	(void)flags;
	o->bytes = ((struct object *)graph)->bytes;
	*exec = (CUgraphExec)o;
	return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct object *o = (struct object *)exec;

	(void)stream;
	if (o->reserved < o->bytes) {
		if (!mock_take(o->bytes - o->reserved))
			return CUDA_ERROR_OUT_OF_MEMORY;
		graph_reserved += o->bytes - o->reserved;
		o->reserved = o->bytes;
	}
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	struct object *o = mock_valid(exec, EXEC);

	if (!o)
		return CUDA_ERROR_INVALID_VALUE;
	o->pending = o->reserved;
	o->kind = FREE;
	mock_give(o->reserved);
	graph_reserved -= o->reserved;
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
	((struct object *)graph)->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute a, void *value)
{
	(void)dev;
	*(cuuint64_t *)value = a == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT ||
			       a == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT ? graph_reserved : 0;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice dev)
{
	(void)dev;
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

CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *n, const CUdevResource *in,
				     CUdevResource *rest, unsigned int flags, unsigned int least)
{
	unsigned int i;

	(void)flags;
	if (*n > in->sm.smCount / least - 1)
		*n = in->sm.smCount / least - 1;
	for (i = 0; i < *n; i++) {
		result[i] = *in;
		result[i].sm.smCount = least;
	}
	*rest = *in;
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
