// SPDX-License-Identifier: Apache-2.0
/*
 * A driver library that only keeps the books of memory, as NVIDIA's does on an H200
 * (measured): blocks of 2 MiB, which allocations up to 1 MiB share; pools that grow by 32
 * MiB and shrink when a stream is synchronised; contexts, modules, stacks and streams
 * that take memory of their own. It computes nothing.
 */
#include "mock_driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>


struct object mock_object[OBJECTS];
struct mock_gpu *mock_gpu;
CUcontext mock_current;

static unsigned int self;
static uint64_t next_address = 1 << 28;
static struct object *primaries[2];	/* by device */
static int primary_refs[2];

static void open_gpu(void)
{
	const char *path = getenv("MOCK_GPU");
	int fd = path ? open(path, O_RDWR) : -1;

	if (fd < 0)
		abort();
	mock_gpu = mmap(NULL, sizeof(*mock_gpu), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	for (self = 0; self < MOCK_PROCESSES; self++) {
		uint32_t nobody = 0;

		if (__atomic_compare_exchange_n(&mock_gpu->process[self].pid, &nobody,
						(uint32_t)getpid(), 0, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return;
	}
	abort();
}

/* Takes memory of the device itself. Returns false when the device has no more. */
int mock_take(uint64_t bytes)
{
	uint64_t now = __atomic_add_fetch(&mock_gpu->used, bytes, __ATOMIC_SEQ_CST);
	uint64_t peak = mock_gpu->peak;

	if (now > mock_gpu->total) {
		__atomic_sub_fetch(&mock_gpu->used, bytes, __ATOMIC_SEQ_CST);
		return 0;
	}
	while (now > peak && !__atomic_compare_exchange_n(&mock_gpu->peak, &peak, now, 0,
							  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	mock_gpu->process[self].bytes += bytes;
	return 1;
}

void mock_give(uint64_t bytes)
{
	mock_gpu->process[self].bytes -= bytes;
	__atomic_sub_fetch(&mock_gpu->used, bytes, __ATOMIC_SEQ_CST);
}

uint64_t mock_addresses(uint64_t bytes, uint64_t align)
{
	uint64_t first = up(next_address, align);

	next_address = first + bytes;
	return first;
}

struct object *mock_make(enum kind kind, uint64_t bytes)
{
	struct object *o;

	for (o = mock_object + 1; o < mock_object + OBJECTS; o++) {
		if (o->kind)
			continue;
		*o = (struct object) { .kind = kind, .bytes = bytes, .refs = 1,
				       .ctx = mock_current };
		o->address = mock_addresses(bytes ? bytes : 1, 512);
		return o;
	}
	abort();
}

struct object *mock_at(uint64_t address, enum kind kind)
{
	struct object *o;

	for (o = mock_object + 1; o < mock_object + OBJECTS; o++)
		if (o->kind == kind && o->address == address)
			return o;
	return NULL;
}

struct object *mock_valid(void *handle, enum kind kind)
{
	struct object *o = handle;

	return o > mock_object && o < mock_object + OBJECTS && o->kind == kind ? o : NULL;
}

/* --- Start and devices --------------------------------------------------------------------- */

CUresult cuInit(unsigned int flags)
{
	(void)flags;
	if (!mock_gpu)
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
	*n = mock_gpu->devices ? 2 : 1;
	return CUDA_SUCCESS;
}

CUdevice mock_device(CUcontext ctx)
{
	return ctx ? ((struct object *)ctx)->device : 0;
}

CUresult cuDeviceGet(CUdevice *dev, int i)
{
	*dev = i;
	return i > (mock_gpu->devices != 0) ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice dev)
{
	(void)dev;
	strncpy(name, "mock", size);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *bus, int size, CUdevice dev)
{
	strncpy(bus, dev ? "0000:02:00.0" : "0000:01:00.0", size);
	return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	(void)dev;
	*bytes = mock_gpu->total;
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

/* --- Contexts ------------------------------------------------------------------------------ */

static CUresult context(CUcontext *out)
{
	struct object *o;

	if (!mock_take(MOCK_CONTEXT))
		return CUDA_ERROR_OUT_OF_MEMORY;
	o = mock_make(CONTEXT, MOCK_CONTEXT);
	o->stack_limit = MOCK_STACK;
	o->heap_limit = 8 << 20;
	*out = (CUcontext)o;
	return CUDA_SUCCESS;
}

static void end_context(struct object *c)
{
	struct object *o;

	for (o = mock_object + 1; o < mock_object + OBJECTS; o++) {
		if (o == c || o->ctx != (CUcontext)c)
			continue;
		if (o->kind == PLAIN || o->kind == DYING || o->kind == ARRAY)
			mock_give_placed(o);
		else if (o->kind == MODULE || o->kind == STREAM)
			mock_give(o->bytes);
		else
			continue;
		o->kind = FREE;
	}
	mock_give(MOCK_CONTEXT + c->stacks + c->heap + c->calls);
	c->kind = FREE;
	if (mock_current == (CUcontext)c)
		mock_current = NULL;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	CUresult res = CUDA_SUCCESS;

	if (!primaries[dev]) {
		res = context(ctx);
		primaries[dev] = res ? NULL : (struct object *)*ctx;
	}
	if (primaries[dev]) {
		primaries[dev]->device = dev;
		primary_refs[dev]++;
		*ctx = (CUcontext)primaries[dev];
	}
	return res;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	if (!primaries[dev])
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!--primary_refs[dev]) {
		end_context(primaries[dev]);
		primaries[dev] = NULL;
	}
	return CUDA_SUCCESS;
}

/* A program that has retained the context goes on with one that is made anew. */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	if (primaries[dev])
		end_context(primaries[dev]);
	primaries[dev] = NULL;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	*flags = 0;
	*active = primaries[dev] != NULL;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	CUresult res = context(ctx);

	(void)flags;
	(void)dev;
	if (!res)
		mock_current = *ctx;
	return res;
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	if (!mock_valid(ctx, CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	end_context((struct object *)ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	*ctx = mock_current;
	mock_current = NULL;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	if (ctx && !mock_valid(ctx, CONTEXT))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	mock_current = ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *dev)
{
	*dev = mock_device(mock_current);
	return mock_current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxGetLimit(size_t *v, CUlimit l)
{
	struct object *c = mock_valid(mock_current, CONTEXT);

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*v = l == CU_LIMIT_STACK_SIZE ? c->stack_limit :
	     l == CU_LIMIT_MALLOC_HEAP_SIZE ? c->heap_limit : 0;
	return CUDA_SUCCESS;
}

int mock_stacks(uint64_t bytes)
{
	struct object *c = (struct object *)mock_current;

	bytes = up(bytes, BLOCK);
	if (bytes <= c->stacks)
		return 1;
	if (!mock_take(bytes - c->stacks))
		return 0;
	c->stacks = bytes;
	return 1;
}

/*
 * The stacks get the size that is asked for, even if kernels had more. A heap is taken
 * when it is used.
 */
CUresult cuCtxSetLimit(CUlimit l, size_t v)
{
	struct object *c = mock_valid(mock_current, CONTEXT);
	uint64_t more;

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (l == CU_LIMIT_MALLOC_HEAP_SIZE) {
		if (c->mallocs)
			return CUDA_ERROR_INVALID_VALUE;
		c->heap_limit = v;
	}
	if (l != CU_LIMIT_STACK_SIZE)
		return CUDA_SUCCESS;
	more = v > MOCK_STACK ? up((v - MOCK_STACK) * MOCK_SMS * MOCK_THREADS, BLOCK) : 0;
	if (!mock_stacks(more))
		return CUDA_ERROR_OUT_OF_MEMORY;
	mock_give(c->stacks - more);
	c->stacks = more;
	c->stack_limit = v;
	return CUDA_SUCCESS;
}
