// SPDX-License-Identifier: Apache-2.0
/* The part of the mock driver with pools of stream-ordered memory, and streams. */
#include "mock_driver.h"

static struct object *chosen_pool;

static struct object *default_pool(CUdevice dev)
{
	static struct object *p[2];

	if (!p[dev])
		p[dev] = mock_make(POOL, 0);
	return p[dev];
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
	*pool = (CUmemoryPool)default_pool(dev);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	*pool = (CUmemoryPool)(chosen_pool && !dev ? chosen_pool : default_pool(dev));
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	struct object *p = mock_valid(pool, POOL);

	(void)dev;
	if (!p || !p->refs)
		return CUDA_ERROR_INVALID_VALUE;
	chosen_pool = p;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	(void)props;
	*pool = (CUmemoryPool)mock_make(POOL, 0);
	return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *where, CUmemAllocationType type)
{
	(void)type;
	*pool = (CUmemoryPool)default_pool(where->id);
	return CUDA_SUCCESS;
}

/*
 * Gives back what nothing uses, in whole steps. A destroyed pool gives back all with the
 * last use of it.
 */
static void pool_idle(struct object *p)
{
	uint64_t keep = up(p->used, MOCK_POOL_STEP);

	if (!p->refs && !p->used) {
		mock_give(p->reserved);
		p->kind = FREE;
		return;
	}
	if (p->reserved > keep) {
		mock_give(p->reserved - keep);
		p->reserved = keep;
	}
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t least)
{
	struct object *p = mock_valid(pool, POOL);

	(void)least;
	if (!p || !p->refs)
		return CUDA_ERROR_INVALID_VALUE;
	pool_idle(p);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct object *p = mock_valid(pool, POOL);

	if (!p || !p->refs)
		return CUDA_ERROR_INVALID_VALUE;
	p->refs = 0;
	if (p == chosen_pool)
		chosen_pool = NULL;
	pool_idle(p);
	return CUDA_SUCCESS;
}

/* The driver answers nothing about a pool where no context is current. */
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute a, void *value)
{
	struct object *p = mock_valid(pool, POOL);

	if (!mock_current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	*(cuuint64_t *)value = a == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? p->reserved : p->used;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	struct object *p = mock_valid(pool, POOL), *o;
	CUcontext ctx = mock_current;
	uint64_t grow;

	/* A thread without a context uses the context of its stream. */
	if (!ctx && cuStreamGetCtx(stream, &ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!p || !p->refs)
		return CUDA_ERROR_INVALID_VALUE;

	bytes = up(bytes, 512);
	if (mock_captured(stream, bytes, out))
		return CUDA_SUCCESS;
	if (p->used + bytes > p->reserved) {
		grow = up(p->used + bytes - p->reserved, MOCK_POOL_STEP);
		if (!mock_take(grow))
			return CUDA_ERROR_OUT_OF_MEMORY;
		p->reserved += grow;
	}
	p->used += bytes;
	o = mock_make(POOLED, bytes);
	o->of = p;
	o->ctx = ctx;
	*out = o->address;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
	CUcontext ctx = mock_current;
	CUmemoryPool pool;

	/* It is the current pool of the stream's device, as cuda.h says. */
	if (mock_valid(stream, STREAM))
		cuStreamGetCtx(stream, &ctx);
	cuDeviceGetMemPool(&pool, mock_device(ctx));
	return cuMemAllocFromPoolAsync(out, bytes, pool, stream);
}

CUresult mock_pool_free(uint64_t address)
{
	struct object *o = mock_at(address, POOLED);

	if (!o)
		return mock_graph_free(address);
	o->of->used -= o->bytes;
	pool_idle(o->of);
	o->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	struct object *o = mock_at(address, POOLED);

	(void)stream;
	if (o) {
		o->of->used -= o->bytes;
		o->kind = FREE;
		return CUDA_SUCCESS;
	}
	o = mock_at(address, PLAIN);
	if (!o)
		return cuMemFree_v2(address);
	o->kind = DYING;
	return CUDA_SUCCESS;
}

static CUresult synchronize(void)
{
	struct object *o;

	for (o = mock_object + 1; o < mock_object + OBJECTS; o++)
		if (o->kind == POOL) {
			pool_idle(o);
		} else if (o->kind == DYING) {
			o->kind = PLAIN;
			cuMemFree_v2(o->address);
		}
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	return synchronize();
}

CUresult cuStreamSynchronize(CUstream stream)
{
	(void)stream;
	return synchronize();
}

CUresult cuStreamQuery(CUstream stream)
{
	(void)stream;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
	(void)flags;
	if (!mock_current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!mock_take(MOCK_STREAM))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = (CUstream)mock_make(STREAM, MOCK_STREAM);
	return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
	(void)priority;
	return cuStreamCreate(out, flags);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
	struct object *o = mock_valid(stream, STREAM);

	*ctx = o ? o->ctx : mock_current;
	return *ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *dev)
{
	CUcontext ctx = NULL;
	CUresult res = cuStreamGetCtx(stream, &ctx);

	*dev = mock_device(ctx);
	return res;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct object *o = mock_valid(stream, STREAM);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	mock_give(o->bytes);
	o->kind = FREE;
	return CUDA_SUCCESS;
}

