// SPDX-License-Identifier: Apache-2.0
/*
 * A driver library that only keeps the books of memory, as NVIDIA's does on an
 * H200 (measured): blocks of 2 MiB, which allocations up to 1 MiB share; pools that
 * grow by 32 MiB and shrink when a stream is synchronised; contexts, modules,
 * stacks and streams that take memory of their own. Computes nothing.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mock.h"

#define BLOCK	(2ull << 20)
#define SMALL	(1ull << 20)
#define OBJECTS	65536

enum kind { FREE, PLAIN, POOLED, PHYSICAL, MAPPING, ARRAY, MODULE, CONTEXT, STREAM, POOL, EXEC, GRAPH };

struct object {
	enum kind kind;
	uint64_t bytes;
	uint64_t refs;
	struct object *of;		/* pool, or physical memory */
	uint64_t address;
	uint64_t reserved, used, pending;	/* of a pool */
	CUcontext ctx;
};

static struct object object[OBJECTS];
static struct mock_gpu *gpu;
static unsigned int self;
static uint64_t small, graph_reserved, next_address = 1 << 28;
static size_t limit[CU_LIMIT_MAX] = { [CU_LIMIT_STACK_SIZE] = 1024 };
static CUcontext current;
static struct object *primary, *chosen_pool;
static int primary_refs;
static CUstream capturing;
static struct object *captured;

static void open_gpu(void)
{
	const char *path = getenv("MOCK_GPU");
	int fd = path ? open(path, O_RDWR) : -1;

	if (fd < 0)
		abort();
	gpu = mmap(NULL, sizeof(*gpu), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	for (self = 0; self < MOCK_PROCESSES; self++) {
		uint32_t nobody = 0;

		if (__atomic_compare_exchange_n(&gpu->process[self].pid, &nobody, (uint32_t)getpid(),
						0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return;
	}
	abort();
}

/* The device itself: false when it has no more. */
static int take(uint64_t bytes)
{
	uint64_t now = __atomic_add_fetch(&gpu->used, bytes, __ATOMIC_SEQ_CST);
	uint64_t peak = gpu->peak;

	if (now > gpu->total) {
		__atomic_sub_fetch(&gpu->used, bytes, __ATOMIC_SEQ_CST);
		return 0;
	}
	while (now > peak && !__atomic_compare_exchange_n(&gpu->peak, &peak, now, 0,
							  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	gpu->process[self].bytes += bytes;
	return 1;
}

static void give(uint64_t bytes)
{
	gpu->process[self].bytes -= bytes;
	__atomic_sub_fetch(&gpu->used, bytes, __ATOMIC_SEQ_CST);
}

static uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static int take_shaped(uint64_t bytes)
{
	uint64_t grow;

	if (bytes > SMALL)
		return take(up(bytes, BLOCK));
	bytes = up(bytes, 512);
	grow = up(small + bytes, BLOCK) - up(small, BLOCK);
	if (grow && !take(grow))
		return 0;
	small += bytes;
	return 1;
}

static void give_shaped(uint64_t bytes)
{
	if (bytes > SMALL) {
		give(up(bytes, BLOCK));
		return;
	}
	bytes = up(bytes, 512);
	give(up(small, BLOCK) - up(small - bytes, BLOCK));
	small -= bytes;
}

static struct object *make(enum kind kind, uint64_t bytes)
{
	struct object *o;

	for (o = object + 1; o < object + OBJECTS; o++) {
		if (o->kind)
			continue;
		*o = (struct object) { .kind = kind, .bytes = bytes, .refs = 1, .ctx = current };
		o->address = next_address;
		next_address += up(bytes ? bytes : 1, 512);
		return o;
	}
	abort();
}

static struct object *at(uint64_t address, enum kind kind)
{
	struct object *o;

	for (o = object + 1; o < object + OBJECTS; o++)
		if (o->kind == kind && o->address == address)
			return o;
	return NULL;
}

static struct object *valid(void *handle, enum kind kind)
{
	struct object *o = handle;

	return o > object && o < object + OBJECTS && o->kind == kind ? o : NULL;
}

/* --- Start and devices ------------------------------------------------------------------ */

CUresult cuInit(unsigned int flags)
{
	(void)flags;
	if (!gpu)
		open_gpu();
	return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *v)
{
	*v = 13000;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n)
{
	*n = 1;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *dev, int i)
{
	*dev = i;
	return i ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice dev)
{
	(void)dev;
	strncpy(name, "mock", size);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *bus, int size, CUdevice dev)
{
	(void)dev;
	strncpy(bus, "0000:01:00.0", size);
	return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	(void)dev;
	*bytes = gpu->total;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	memset(uuid, dev + 1, sizeof(*uuid));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice dev)
{
	(void)dev;
	*v = a == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? MOCK_SMS :
	     a == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR ? MOCK_THREADS : 1;
	return CUDA_SUCCESS;
}

/* --- Contexts ----------------------------------------------------------------------------- */

static CUresult context(CUcontext *out)
{
	struct object *o;

	if (!take(MOCK_CONTEXT))
		return CUDA_ERROR_OUT_OF_MEMORY;
	o = make(CONTEXT, MOCK_CONTEXT);
	*out = (CUcontext)o;
	return CUDA_SUCCESS;
}

static void end_context(struct object *c)
{
	struct object *o;

	for (o = object + 1; o < object + OBJECTS; o++) {
		if (o == c || o->ctx != (CUcontext)c)
			continue;
		if (o->kind == PLAIN || o->kind == ARRAY)
			give_shaped(o->bytes);
		else if (o->kind == MODULE || o->kind == STREAM)
			give(o->bytes);
		else
			continue;
		o->kind = FREE;
	}
	give(MOCK_CONTEXT);
	c->kind = FREE;
	if (current == (CUcontext)c)
		current = NULL;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	CUresult res = CUDA_SUCCESS;

	(void)dev;
	if (!primary) {
		res = context(ctx);
		primary = res ? NULL : (struct object *)*ctx;
	}
	if (primary) {
		primary_refs++;
		*ctx = (CUcontext)primary;
	}
	return res;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	(void)dev;
	if (!primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!--primary_refs) {
		end_context(primary);
		primary = NULL;
	}
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	(void)dev;
	*flags = 0;
	*active = primary != NULL;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	CUresult res = context(ctx);

	(void)flags;
	(void)dev;
	if (!res)
		current = *ctx;
	return res;
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	if (!valid(ctx, CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	end_context((struct object *)ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	*ctx = current;
	current = NULL;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	current = ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *dev)
{
	*dev = 0;
	return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxGetLimit(size_t *v, CUlimit l)
{
	*v = limit[l];
	return CUDA_SUCCESS;
}

static uint64_t limit_bytes(CUlimit l, size_t v)
{
	return up(v * (l == CU_LIMIT_STACK_SIZE ? (uint64_t)MOCK_SMS * MOCK_THREADS : 1), BLOCK);
}

CUresult cuCtxSetLimit(CUlimit l, size_t v)
{
	uint64_t now = limit_bytes(l, limit[l]), then = limit_bytes(l, v);

	if (then > now && !take(then - now))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (then < now)
		give(now - then);
	limit[l] = v;
	return CUDA_SUCCESS;
}

/* --- Plain memory ------------------------------------------------------------------------------ */

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	*free = gpu->total - gpu->used;
	*total = gpu->total;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!take_shaped(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = make(PLAIN, bytes)->address;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr_v1 *out, unsigned int bytes)
{
	CUdeviceptr p;
	CUresult res = cuMemAlloc_v2(&p, bytes);

	if (!res)
		*out = (CUdeviceptr_v1)p;
	return res;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
			    unsigned int element)
{
	(void)element;
	*pitch = up(width, 512);
	return cuMemAlloc_v2(out, *pitch * height);
}

static void pool_idle(struct object *p);

CUresult cuMemFree_v2(CUdeviceptr address)
{
	struct object *o = at(address, PLAIN);

	if (o) {
		give_shaped(o->bytes);
	} else {
		o = at(address, POOLED);
		if (!o)
			return CUDA_ERROR_INVALID_VALUE;
		o->of->used -= o->bytes;
		pool_idle(o->of);
	}
	o->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr_v1 address)
{
	return cuMemFree_v2(address);
}

/* --- Pools --------------------------------------------------------------------------------------- */

static struct object *default_pool(void)
{
	static struct object *p;

	if (!p)
		p = make(POOL, 0);
	return p;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
	(void)dev;
	*pool = (CUmemoryPool)default_pool();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	(void)dev;
	*pool = (CUmemoryPool)(chosen_pool ? chosen_pool : default_pool());
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	(void)dev;
	chosen_pool = (struct object *)pool;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	(void)props;
	*pool = (CUmemoryPool)make(POOL, 0);
	return CUDA_SUCCESS;
}

/* What nothing uses goes back, in whole steps. */
static void pool_idle(struct object *p)
{
	uint64_t keep = up(p->used, MOCK_POOL_STEP);

	if (p->reserved > keep) {
		give(p->reserved - keep);
		p->reserved = keep;
	}
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t least)
{
	(void)least;
	pool_idle((struct object *)pool);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct object *p = valid(pool, POOL);

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	give(p->reserved);
	p->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute a, void *value)
{
	struct object *p = (struct object *)pool;

	*(cuuint64_t *)value = a == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? p->reserved : p->used;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	struct object *p = (struct object *)pool, *o;
	uint64_t grow;

	bytes = up(bytes, 512);
	if (capturing && stream == capturing) {
		captured->bytes += up(bytes, BLOCK);
		*out = make(GRAPH, bytes)->address;
		return CUDA_SUCCESS;
	}
	if (p->used + bytes > p->reserved) {
		grow = up(p->used + bytes - p->reserved, MOCK_POOL_STEP);
		if (!take(grow))
			return CUDA_ERROR_OUT_OF_MEMORY;
		p->reserved += grow;
	}
	p->used += bytes;
	o = make(POOLED, bytes);
	o->of = p;
	*out = o->address;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
	CUmemoryPool pool;

	cuDeviceGetMemPool(&pool, 0);
	return cuMemAllocFromPoolAsync(out, bytes, pool, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	struct object *o = at(address, POOLED);

	(void)stream;
	if (!o)
		return cuMemFree_v2(address);
	o->of->used -= o->bytes;
	o->kind = FREE;
	return CUDA_SUCCESS;
}

static CUresult synchronize(void)
{
	struct object *o;

	for (o = object + 1; o < object + OBJECTS; o++)
		if (o->kind == POOL)
			pool_idle(o);
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
	return synchronize();
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
	(void)flags;
	if (!take(MOCK_STREAM))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = (CUstream)make(STREAM, MOCK_STREAM);
	return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct object *o = valid(stream, STREAM);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	give(o->bytes);
	o->kind = FREE;
	return CUDA_SUCCESS;
}

/* --- Physical memory --------------------------------------------------------------------------------- */

static void drop(struct object *o)
{
	if (--o->refs)
		return;
	give(o->bytes);
	o->kind = FREE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *prop,
		     unsigned long long flags)
{
	(void)flags;
	if (bytes % BLOCK)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !take(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = (CUmemGenericAllocationHandle)(uintptr_t)make(PHYSICAL,
		prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? bytes : 0);
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct object *o = valid((void *)(uintptr_t)handle, PHYSICAL);

	if (!o)
		return CUDA_ERROR_INVALID_VALUE;
	drop(o);
	return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align, CUdeviceptr hint,
			     unsigned long long flags)
{
	(void)align;
	(void)hint;
	(void)flags;
	next_address = up(next_address, BLOCK);
	*out = next_address;
	next_address += size;
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	struct object *o = valid((void *)(uintptr_t)handle, PHYSICAL), *m;

	(void)offset;
	(void)flags;
	if (!o)
		return CUDA_ERROR_INVALID_VALUE;
	o->refs++;
	m = make(MAPPING, size);
	m->address = ptr;
	m->of = o;
	return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	struct object *m = at(ptr, MAPPING);

	(void)size;
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	drop(m->of);
	m->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *addr)
{
	struct object *m = at((uintptr_t)addr, MAPPING);

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	m->of->refs++;
	*out = (CUmemGenericAllocationHandle)(uintptr_t)m->of;
	return CUDA_SUCCESS;
}

/* --- Arrays ---------------------------------------------------------------------------------------------- */

static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int level)
{
	uint64_t w = d->Width >> level, h = d->Height >> level;
	uint64_t row = up((w ? w : 1) * d->NumChannels * (d->Format == CU_AD_FORMAT_FLOAT ? 4 : 1), 64);

	h = d->Height ? h ? h : 1 : 0;
	return row * (h > 1 ? up(h, 8) : 1) * (d->Depth ? d->Depth : 1);
}

static CUresult array(void *out, uint64_t bytes)
{
	if (!take_shaped(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*(void **)out = make(ARRAY, bytes);
	return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *a)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { a->Width, a->Height, 0, a->Format, a->NumChannels, 0 };

	return array(out, array_bytes(&d, 0));
}

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return array(out, d->Flags & CUDA_ARRAY3D_DEFERRED_MAPPING ? 0 : array_bytes(d, 0));
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d,
				unsigned int levels)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < levels; i++)
		sum += array_bytes(d, i);
	return array(out, sum);
}

static CUresult end_array(void *a)
{
	struct object *o = valid(a, ARRAY);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	give_shaped(o->bytes);
	o->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuArrayDestroy(CUarray a)
{
	return end_array(a);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray a)
{
	return end_array(a);
}

/* --- Code -------------------------------------------------------------------------------------------------- */

static CUresult code(void *out)
{
	if (!take(MOCK_MODULE))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*(void **)out = make(MODULE, MOCK_MODULE);
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
	struct object *o = valid(m, MODULE);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	give(o->bytes);
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

/* --- Graphs: their memory is taken at the first launch -------------------------------------------------------- */

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

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	(void)mode;
	capturing = stream;
	captured = make(EXEC, 0);
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
	struct object *o = make(EXEC, 0);

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
		if (!take(o->bytes - o->reserved))
			return CUDA_ERROR_OUT_OF_MEMORY;
		graph_reserved += o->bytes - o->reserved;
		o->reserved = o->bytes;
	}
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	struct object *o = valid(exec, EXEC);

	if (!o)
		return CUDA_ERROR_INVALID_VALUE;
	o->pending = o->reserved;
	o->kind = FREE;
	give(o->reserved);
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

/* --- Green contexts --------------------------------------------------------------------------------------------- */

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
	struct object *o = make(CONTEXT, 0);

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
	struct object *o = valid(green, CONTEXT);

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
