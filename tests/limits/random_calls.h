/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes random calls that take device memory, give it back and end what has it, right
 * ones and wrong ones. In random_memory_test.c one thread makes them, in random_tenant.c
 * several threads of several processes. Results of the calls lie in places that all
 * threads of a process share, so that one thread frees what another uses. Contexts and
 * streams are a thread's own, but contexts of other threads may become current. A file
 * that includes this one defines MIB before.
 */
#ifndef WORMHOLE_TESTS_LIMITS_RANDOM_CALLS_H
#define WORMHOLE_TESTS_LIMITS_RANDOM_CALLS_H

#include <cuda.h>
#include <stdbool.h>

#include "modules.h"
#include "random.h"

#ifndef THREADS
#define THREADS	1
#endif
#define THINGS	48
#define CONTEXTS	3	/* of a thread */
#define STREAMS	4	/* of a thread */
#define CROWD	300	/* graphs of one kind at a time, now and then */

/* Programs call resets and the old names of functions as well. */
extern CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev);

/* Memory that has gone with a context stays in these tables, so that it is freed again. */
static struct {
	CUdeviceptr plain[THINGS], stream_ordered[THINGS], mapping[THINGS];
	CUmemGenericAllocationHandle physical[THINGS];
	CUmemoryPool pool[THINGS];
	CUarray array[THINGS];
	CUmipmappedArray mipmap[THINGS];
	CUmodule module[THINGS];
	CUlibrary library[THINGS];
	CUgraphExec exec[THINGS], crowd[CROWD];
	CUdeviceptr of_graph[THINGS];
	CUcontext primary;
	CUcontext context[THREADS][CONTEXTS];
} t;

static __thread CUstream stream_of[STREAMS];
static __thread unsigned int thread;	/* its number in its process */

static struct {
	uint64_t most;		/* the size of one allocation */
	bool straddling;	/* small ones may cross blocks' borders: none up to a MiB */
} sizes = { 700 * MIB, false };

static size_t any_size(void)
{
	const uint64_t largest[] = { 4096, MIB, 4 * MIB, sizes.most / 11, sizes.most };
	uint64_t size = 1 + any(largest[any(5)]);

	return sizes.straddling && size > 4096 && size <= MIB ? size + MIB : size;
}

static unsigned int slot(void)
{
	return (unsigned int)any(THINGS);
}

/*
 * Returns a slot that is not in use, if there soon is one: memory whose slot is
 * overwritten is never freed.
 */
static unsigned int free_slot(const void *array)
{
	const uint64_t *a = array;
	unsigned int i = slot(), tries;

	for (tries = 0; tries < 8 && a[i]; tries++)
		i = slot();
	return i;
}

/* Returns the content of a slot, and most often empties the slot. */
static uint64_t take(void *array)
{
	uint64_t *a = (uint64_t *)array + slot(), value = *a;

	if (any(8))
		*a = 0;
	return value;
}

/* --- Calls -------------------------------------------------------------------------- */

static CUresult plain(void)
{
	CUdeviceptr *p = &t.plain[free_slot(t.plain)];
	size_t pitch, least = sizes.straddling ? 1025 : 1;

	return any(4) ? cuMemAlloc(p, any_size()) :
			cuMemAllocPitch(p, &pitch, least + any(sizes.most / 4096),
					least + any(2048), 16);
}

static CUresult free_plain(void)
{
	return any(8) ? cuMemFree(take(t.plain)) : cuMemFreeAsync(take(t.plain), NULL);
}

static CUstream any_stream(void)
{
	return any(2) ? NULL : stream_of[any(STREAMS)];
}

static CUresult stream_ordered(void)
{
	CUdeviceptr *p = &t.stream_ordered[free_slot(t.stream_ordered)];

	return any(2) ? cuMemAllocAsync(p, any_size(), any_stream()) :
	       cuMemAllocFromPoolAsync(p, any_size(), t.pool[any(4)], any_stream());
}

static CUresult free_stream_ordered(void)
{
	CUdeviceptr p = take(t.stream_ordered);

	return any(3) ? cuMemFreeAsync(p, any_stream()) : cuMemFree(p);
}

static CUresult pool(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	unsigned int i = (unsigned int)any(4);

	switch (any(4)) {
	case 0:
		return cuMemPoolDestroy(t.pool[i]);
	case 1:
		return cuDeviceSetMemPool(0, t.pool[i]);
	case 2:
		return cuMemPoolTrimTo(t.pool[i], 0);
	default:
		return cuMemPoolCreate(&t.pool[i], &props);
	}
}

static CUresult physical(void)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = any(2) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR :
						 CU_MEM_HANDLE_TYPE_NONE,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};

	return cuMemCreate(&t.physical[free_slot(t.physical)], (1 + any(16)) * 2 * MIB, &prop, 0);
}

/* Maps memory, now and then by two names, and gives up the first one. */
static CUresult map(void)
{
	unsigned int i = slot(), j = free_slot(t.mapping);
	CUresult res = cuMemAddressReserve(&t.mapping[j], 2 * MIB, 0, 0, 0);

	if (!res)
		res = cuMemMap(t.mapping[j], 2 * MIB, 0, t.physical[i], 0);
	if (!res && !any(3))
		cuMemRetainAllocationHandle(&t.physical[slot()], (void *)t.mapping[j]);
	return res;
}

static CUresult unmap(void)
{
	CUdeviceptr p;
	CUresult res;

	if (any(2))
		return cuMemRelease(take(t.physical));
	p = take(t.mapping);
	res = cuMemUnmap(p, 2 * MIB);
	if (!res && any(2))
		cuMemAddressFree(p, 2 * MIB);
	return res;
}

static CUresult array(void)
{
	CUDA_ARRAY_DESCRIPTOR d = { 1 + any(4000), any(4000), CU_AD_FORMAT_FLOAT, 1 };

	return any(2) ? cuArrayCreate(&t.array[free_slot(t.array)], &d) :
			cuArrayDestroy((CUarray)take(t.array));
}

static CUresult mipmap(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 1 + any(2000), .Height = 1 + any(2000),
				      .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };

	return any(2) ? cuMipmappedArrayCreate(&t.mipmap[free_slot(t.mipmap)], &d,
					       1 + (unsigned int)any(8)) :
			cuMipmappedArrayDestroy((CUmipmappedArray)take(t.mipmap));
}

static CUresult module(void)
{
	return any(2) ? cuModuleLoadData(&t.module[free_slot(t.module)], image) :
			cuModuleUnload((CUmodule)take(t.module));
}

static CUresult library(void)
{
	return any(2) ? cuLibraryLoadData(&t.library[free_slot(t.library)], image, NULL, NULL, 0,
					  NULL, NULL, 0) :
			cuLibraryUnload((CUlibrary)take(t.library));
}

static CUresult stream(void)
{
	CUstream *s = &stream_of[any(STREAMS)];
	CUresult res;

	if (!any(3))
		return cuStreamSynchronize(any_stream());
	if (!*s)
		return cuStreamCreate(s, 0);
	res = cuStreamDestroy(*s);
	*s = NULL;
	return res;
}

/*
 * Makes a context current: the primary one as often as one of its own, another thread's,
 * or none.
 */
static CUresult make_current(void)
{
	switch (any(4)) {
	case 0:
		return cuCtxSetCurrent(t.primary);
	case 1:
		return cuCtxSetCurrent(any(3) ? t.context[any(THREADS)][any(CONTEXTS)] : NULL);
	default:
		return cuCtxSetCurrent(t.context[thread][any(CONTEXTS)]);
	}
}

static CUresult context(void)
{
	CUcontext *own = &t.context[thread][any(CONTEXTS)];
	CUresult res;

	switch (any(6)) {
	case 0:
		if (*own && any(4))
			return cuCtxSetCurrent(*own);
		return cuCtxCreate_v2(own, 0, 0);
	case 1:
		res = cuCtxDestroy(*own);
		if (any(4))
			*own = NULL;
		return res;
	case 2:
		return cuDevicePrimaryCtxRetain(&t.primary, 0);
	case 3:
		return cuDevicePrimaryCtxRelease(0);
	case 4:
		return any(4) ? CUDA_SUCCESS : cuDevicePrimaryCtxReset(0);
	default:
		return make_current();
	}
}

static CUresult limit(void)
{
	return any(2) ? cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024 + 16 * any(40)) :
			cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, MIB + any(64 * MIB));
}

static CUresult kernel(void)
{
	CUmodule *m = &t.module[free_slot(t.module)];
	CUfunction f;
	CUresult res = cuModuleLoadData(m, any(2) ? image : image_of_malloc);

	if (!res)
		res = cuModuleGetFunction(&f, *m, "run");
	if (!res)
		res = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return res ? res : cuCtxSynchronize();
}

/* Makes a graph whose allocation was captured, ready to run. */
static CUresult captured(size_t size, CUdeviceptr *of, CUgraph *g)
{
	CUstream s;
	CUresult res = cuStreamCreate(&s, 0);

	if (res)
		return res;
	res = cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (!res)
		res = cuMemAllocAsync(of, size, s);
	if (!res)
		res = cuStreamEndCapture(s, g);
	cuStreamDestroy(s);
	return res;
}

static CUresult make_graph(void)
{
	unsigned int i = free_slot(t.exec);
	CUgraph g;
	CUresult res = captured(any_size(), &t.of_graph[i], &g);

	if (res)
		return res;
	res = cuGraphInstantiate(&t.exec[i], g, 0);
	cuGraphDestroy(g);
	return res;
}

/* Launches a graph, frees its memory, ends it, or launches it again. */
static CUresult graph(void)
{
	unsigned int i = slot();

	switch (any(5)) {
	case 0:
	case 1:
		return cuGraphLaunch(t.exec[i], any_stream());
	case 2:
		return cuMemFree(t.of_graph[i]);
	case 3:
		return any(2) ? cuGraphExecDestroy((CUgraphExec)take(t.exec)) :
				cuDeviceGraphMemTrim(0);
	default:
		return make_graph();
	}
}

/* Makes more graphs than anybody keeps in a table of his own; the largest is made last. */
static CUresult crowd(void)
{
	unsigned int i;
	CUdeviceptr unused;
	CUresult res;
	CUgraph g;

	if (any(20))
		return CUDA_SUCCESS;
	for (i = 0; i < CROWD; i++) {
		if (t.crowd[i])
			cuGraphExecDestroy(t.crowd[i]);
		t.crowd[i] = NULL;
	}
	res = captured(4096, &unused, &g);
	for (i = 0; i < CROWD && !res; i++)
		res = cuGraphInstantiate(&t.crowd[i], g, 0);
	if (!res) {
		cuGraphDestroy(g);
		res = make_graph();
	}
	return res;
}

/*
 * Calls that are `late` may take more than there is; the server sees that right
 * afterwards and undoes it (docs/limits.md).
 */
static const struct call {
	const char *name;
	CUresult (*fn)(void);
	bool late;
} calls[] = {
	{ "cuMemAlloc", plain, false }, { "cuMemFree", free_plain, false },
	{ "cuMemAllocAsync", stream_ordered, false }, { "cuMemFreeAsync", free_stream_ordered, false },
	{ "a pool", pool, false }, { "cuMemCreate", physical, false }, { "cuMemMap", map, false },
	{ "cuMemUnmap", unmap, false }, { "an array", array, true }, { "a mipmap", mipmap, true },
	{ "a module", module, true }, { "a library", library, true }, { "a stream", stream, true },
	{ "a context", context, true }, { "a limit", limit, true }, { "a kernel", kernel, true },
	{ "a graph", graph, true }, { "a crowd of graphs", crowd, true },
};
#define CALLS	(sizeof(calls) / sizeof(*calls))

/* Begins a thread of a process: with the primary context. */
static inline void begin(unsigned int number, uint64_t seed)
{
	thread = number;
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	cuDevicePrimaryCtxRetain(&t.primary, 0);
	cuCtxSetCurrent(t.primary);
}

#endif
