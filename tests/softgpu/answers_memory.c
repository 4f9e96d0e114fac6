// SPDX-License-Identifier: Apache-2.0
/* Records answers of allocations, copies, fills, host memory, pointers and pools. */
#include "answers.h"

static void allocations(void)
{
	CUdeviceptr p = 0, q, base;
	size_t n, pitch;
	int local;

	answer_ctx();
	A(cuMemAlloc(&p, 0));
	A(cuMemAlloc(NULL, 16));
	A(cuMemAlloc(NULL, 0));
	A(cuMemAlloc(&p, (size_t)1 << 60));
	A(cuMemAlloc(&p, ~(size_t)0));
	A(cuMemAlloc(&p, 1000));
	V(p % 512);
	A(cuMemGetAddressRange(&base, &n, p + 999));
	V(base == p);
	V(n);
	A(cuMemGetAddressRange(NULL, NULL, p));
	A(cuMemGetAddressRange(&base, &n, 512));
	A(cuMemGetAddressRange(&base, &n, 0));
	A(cuMemGetAddressRange(&base, &n, (CUdeviceptr)&local));
	A(cuMemFree(p + 1));
	A(cuMemFree(p + 512));
	A(cuMemFree((CUdeviceptr)&local));
	A(cuMemFree(512));
	A(cuMemFree(p));
	A(cuMemFree(p));
	A(cuMemFree(0));
	A(cuMemAllocPitch(&p, &pitch, 100, 10, 4));
	V(pitch);
	A(cuMemAllocPitch(&q, &pitch, 513, 10, 4));
	V(pitch);
	A(cuMemAllocPitch(&q, &pitch, 100, 10, 3));
	A(cuMemAllocPitch(&q, &pitch, 100, 10, 1));
	A(cuMemAllocPitch(&q, &pitch, 100, 10, 0));
	A(cuMemAllocPitch(&q, &pitch, 0, 10, 4));
	A(cuMemAllocPitch(&q, &pitch, 100, 0, 4));
	A(cuMemAllocPitch(&q, NULL, 100, 10, 4));
	A(cuMemAllocPitch(NULL, &pitch, 100, 10, 4));
	A(cuMemGetInfo(&n, NULL));
	A(cuMemGetInfo(NULL, &n));
	A(cuMemAllocManaged(&p, 100, 0));
	A(cuMemAllocManaged(&p, 100, 3));
	A(cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL));
	A(cuMemAllocManaged(&p, 100, CU_MEM_ATTACH_SINGLE));
	A(cuMemAllocManaged(&p, 100, CU_MEM_ATTACH_GLOBAL));
	A(cuMemFree(p));
}

static void copies(void)
{
	static char buf[4096];
	CUdeviceptr p, q;

	answer_ctx();
	cuMemAlloc(&p, 1000);
	cuMemAlloc(&q, 1000);
	A(cuMemcpyHtoD(p, buf, 1000));
	A(cuMemcpyHtoD(p, buf, 0));
	A(cuMemcpyHtoD(0, buf, 0));
	A(cuMemcpyHtoD(p, NULL, 0));
	A(cuMemcpyHtoD(p, NULL, 4));
	A(cuMemcpyHtoD(0, buf, 4));
	A(cuMemcpyHtoD(512, buf, 4));
	A(cuMemcpyHtoD((CUdeviceptr)(buf + 2048), buf, 4));
	A(cuMemcpyHtoDAsync(p, NULL, 4, NULL));
	A(cuMemcpyHtoDAsync(0, buf, 4, NULL));
	A(cuMemcpyHtoDAsync(0, buf, 0, NULL));
	A(cuMemcpyDtoH(buf, p, 1000));
	A(cuMemcpyDtoH(NULL, p, 4));
	A(cuMemcpyDtoH(buf, 0, 4));
	A(cuMemcpyDtoH(buf, 512, 4));
	A(cuMemcpyDtoD(p, q, 1000));
	A(cuMemcpyDtoD(p, p + 10, 900));
	A(cuMemcpyDtoD(p, 0, 4));
	A(cuMemcpyDtoD(p, (CUdeviceptr)buf, 4));
	A(cuMemcpy(p, (CUdeviceptr)buf, 1000));
	A(cuMemcpy((CUdeviceptr)buf, p, 1000));
	A(cuMemcpy((CUdeviceptr)buf, (CUdeviceptr)(buf + 2048), 1000));
	A(cuMemcpy(p, q, 1000));
	A(cuMemcpy(0, q, 4));
	A(cuMemcpy(p, 0, 0));
	A(cuMemcpyAsync(p, (CUdeviceptr)buf, 1000, NULL));
	A(cuMemcpyPeer(p, NULL, q, NULL, 10));
}

static void copies_beyond(void)
{
	static char buf[8 << 20];
	CUdeviceptr p;

	answer_ctx();
	cuMemAlloc(&p, 3 << 20);
	A(cuMemcpyHtoD(p, buf, (3 << 20) + 1));
	A(cuMemcpyHtoD(p + (3 << 20) - 4, buf, 8));
	A(cuMemcpyHtoD(p, buf, 8 << 20));
	A(cuMemcpyDtoH(buf, p, (3 << 20) + 1));
	A(cuMemcpyDtoD(p, p + (2 << 20), (1 << 20) + 1));
	A(cuMemcpy((CUdeviceptr)buf, p, (3 << 20) + 1));
	A(cuMemsetD8(p, 1, (3 << 20) + 1));
	A(cuMemsetD32(p, 1, (3 << 18) + 1));
	A(cuMemsetD8(p + (3 << 20), 1, 1));
	A(cuCtxSynchronize());
}

static void fills(void)
{
	CUdeviceptr p;
	int local;

	answer_ctx();
	cuMemAlloc(&p, 4096);
	A(cuMemsetD8(p, 1, 4096));
	A(cuMemsetD8(p, 1, 0));
	A(cuMemsetD8(0, 1, 0));
	A(cuMemsetD8(0, 1, 1));
	A(cuMemsetD8(512, 1, 1));
	A(cuMemsetD8((CUdeviceptr)&local, 1, 1));
	A(cuMemsetD16(p + 1, 1, 4));
	A(cuMemsetD32(p + 2, 1, 4));
	A(cuMemsetD32(p + 1, 1, 0));
	A(cuMemsetD32Async(p, 1, 4, NULL));
	A(cuMemsetD2D8(p, 64, 1, 32, 4));
	A(cuMemsetD2D8(p, 16, 1, 32, 4));
	A(cuMemsetD2D8(p, 16, 1, 32, 1));
	A(cuMemsetD2D8(p, 64, 1, 0, 4));
	A(cuMemsetD2D8(p, 64, 1, 32, 0));
	A(cuMemsetD2D8(p, 1024, 1, 32, 5));
	A(cuMemsetD2D32(p, 62, 1, 4, 4));
	A(cuMemsetD2D32(p, 64, 1, 32, 4));
	A(cuMemsetD2D16(p, 64, 1, 32, 4));
}

static CUresult box(CUdeviceptr dev, void *host, size_t dev_pitch,
		    size_t host_pitch, size_t width, size_t height, int type)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = type, .srcHost = host, .srcPitch = host_pitch,
		.srcDevice = (CUdeviceptr)host,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = dev,
		.dstPitch = dev_pitch, .WidthInBytes = width, .Height = height,
	};

	return cuMemcpy2D(&c);
}

static void boxes(void)
{
	static char buf[1 << 16];
	CUDA_MEMCPY3D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = buf,
		.srcPitch = 64, .srcHeight = 8,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstPitch = 64, .dstHeight = 8,
		.WidthInBytes = 32, .Height = 4, .Depth = 2,
	};
	CUdeviceptr p;

	answer_ctx();
	cuMemAlloc(&p, 4096);
	A(box(p, buf, 64, 64, 32, 4, CU_MEMORYTYPE_HOST));
	A(box(p, buf, 64, 64, 32, 4, CU_MEMORYTYPE_UNIFIED));
	A(box(p, buf, 64, 64, 32, 4, 0));
	A(box(p, buf, 64, 64, 32, 4, 9));
	A(box(p, buf, 16, 64, 32, 4, CU_MEMORYTYPE_HOST));
	A(box(p, buf, 64, 16, 32, 4, CU_MEMORYTYPE_HOST));
	A(box(p, buf, 16, 64, 32, 1, CU_MEMORYTYPE_HOST));
	A(box(p, buf, 0, 0, 32, 4, CU_MEMORYTYPE_HOST));
	A(box(p, buf, 0, 0, 32, 1, CU_MEMORYTYPE_HOST));
	A(box(p, buf, 64, 64, 0, 4, CU_MEMORYTYPE_HOST));
	A(box(p, buf, 64, 64, 32, 0, CU_MEMORYTYPE_HOST));
	A(box(0, buf, 64, 64, 32, 4, CU_MEMORYTYPE_HOST));
	A(box(p, NULL, 64, 64, 32, 4, CU_MEMORYTYPE_HOST));
	A(box(p, buf, 64, 64, 32, 1000000, CU_MEMORYTYPE_HOST));
	A(cuMemcpy2D(NULL));
	c.dstDevice = p;
	A(cuMemcpy3D(&c));
	c.dstHeight = 2;
	A(cuMemcpy3D(&c));
	c.dstHeight = 0;
	A(cuMemcpy3D(&c));
	c.dstHeight = 8;
	c.Depth = 0;
	A(cuMemcpy3D(&c));
	A(cuMemcpy3D(NULL));
}

static void host_memory(void)
{
	char *heap = aligned_alloc(4096, 65536);
	CUdeviceptr d, p;
	unsigned int flags = 0;
	void *h = NULL, *h2;

	answer_ctx();
	cuMemAlloc(&p, 1000);
	A(cuMemAllocHost(&h, 0));
	V(h == NULL);
	A(cuMemAllocHost(NULL, 16));
	A(cuMemAllocHost(&h, (size_t)1 << 50));
	A(cuMemAllocHost(&h, 1000));
	A(cuMemHostGetFlags(&flags, h));
	V(flags);
	A(cuMemHostGetFlags(&flags, (char *)h + 5));
	A(cuMemHostGetFlags(NULL, h));
	A(cuMemHostGetFlags(&flags, heap));
	A(cuMemHostGetDevicePointer(&d, h, 0));
	V(d == (CUdeviceptr)h);
	A(cuMemHostGetDevicePointer(&d, (char *)h + 5, 0));
	A(cuMemHostGetDevicePointer(&d, h, 1));
	A(cuMemHostGetDevicePointer(NULL, h, 0));
	A(cuMemHostGetDevicePointer(&d, heap, 0));
	A(cuMemHostGetDevicePointer(&d, NULL, 0));
	A(cuMemFree((CUdeviceptr)h));
	A(cuMemFreeHost((char *)h + 8));
	A(cuMemFreeHost(h));
	A(cuMemFreeHost(NULL));
	A(cuMemFreeHost(heap));
	A(cuMemFreeHost((void *)p));
	A(cuMemHostAlloc(&h, 1000, 8));
	A(cuMemHostAlloc(&h, 1000, 0));
	cuMemHostGetFlags(&flags, h);
	V(flags);
	A(cuMemHostAlloc(&h2, 1000, CU_MEMHOSTALLOC_WRITECOMBINED));
	cuMemHostGetFlags(&flags, h2);
	V(flags);
	A(cuMemHostUnregister(h));
	A(cuMemHostRegister(heap, 0, 0));
	A(cuMemHostRegister(NULL, 4096, 0));
	A(cuMemHostRegister(heap, 4096, 0x100));
	A(cuMemHostRegister(heap, 5000, 0));
	A(cuMemHostGetFlags(&flags, heap));
	V(flags);
	A(cuMemHostGetDevicePointer(&d, heap, 0));
	A(cuMemHostGetDevicePointer(&d, heap + 4999, 0));
	A(cuMemHostGetDevicePointer(&d, heap + 5001, 0));
	A(cuMemHostRegister(heap, 4096, 0));
	A(cuMemHostRegister(heap + 4096, 4096, 0));
	A(cuMemHostRegister(heap + 8192, 4096, 0));
	A(cuMemHostRegister(heap + 12293, 100, 0));
	A(cuMemHostRegister(h, 100, 0));
	A(cuMemHostRegister((void *)p, 100, 0));
	A(cuMemFreeHost(heap));
	A(cuMemHostUnregister(heap + 8));
	A(cuMemHostUnregister(heap));
	A(cuMemHostUnregister(heap));
	A(cuMemHostUnregister(NULL));
}

static void ask(CUdeviceptr p, const char *what)
{
	for (int i = 0; i <= 22; i++) {
		unsigned long long value[8] = { 0 };
		CUresult rc;

		if (i == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
			continue;
		rc = cuPointerGetAttribute(value, i, p);
		printf("attribute %d of %s = %s", i, what, answer_name(rc));
		if (!rc && (i == 2 || i == 6 || i == 8 || i == 9 || i == 12 ||
			    i == 13 || i == 16))
			printf(", %lld", (long long)(int)value[0]);
		printf("\n");
	}
}

static void pointers(void)
{
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
					CU_POINTER_ATTRIBUTE_CONTEXT,
					CU_POINTER_ATTRIBUTE_HOST_POINTER,
					CU_POINTER_ATTRIBUTE_DEVICE_POINTER };
	unsigned int type = 77;
	int ordinal = 77, local;
	void *host = &local, *ctx = &local, *dev = &local;
	void *out[] = { &type, &ordinal, &ctx, &host, &dev };
	CUdeviceptr p, m;
	void *h;

	answer_ctx();
	cuMemAlloc(&p, 1000);
	cuMemAllocHost(&h, 1000);
	cuMemAllocManaged(&m, 1000, CU_MEM_ATTACH_GLOBAL);
	ask(p, "device memory");
	ask((CUdeviceptr)h, "host memory");
	ask(m, "managed memory");
	ask((CUdeviceptr)&local, "the stack");
	A(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
	A(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0));
	A(cuPointerGetAttributes(5, which, out, (CUdeviceptr)&local));
	V(type);
	V(ordinal);
	V(ctx == NULL);
	V(host == NULL);
	V(dev == NULL);
	A(cuPointerGetAttributes(5, which, out, p));
	V(type);
	V(ordinal);
	V(host == NULL);
	V(dev == (void *)p);
	A(cuPointerGetAttributes(5, which, out, (CUdeviceptr)h));
	V(type);
	V(host == h);
	A(cuPointerGetAttributes(0, which, out, p));
	A(cuPointerGetAttributes(1, NULL, out, p));
	A(cuPointerGetAttributes(1, which, NULL, p));
	type = 1;
	A(cuPointerSetAttribute(&type, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
	A(cuPointerSetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
	A(cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
}

static void pools(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemoryPool pool = NULL, other = NULL;
	CUdeviceptr p = 0, q = 0;
	cuuint64_t value = 7;
	int on = 1;

	answer_ctx();
	A(cuDeviceGetDefaultMemPool(&pool, 0));
	A(cuDeviceGetDefaultMemPool(&pool, 1000));
	A(cuDeviceGetDefaultMemPool(NULL, 0));
	A(cuDeviceGetMemPool(&other, 0));
	V(pool == other);
	A(cuMemAllocAsync(&p, 0, NULL));
	A(cuMemAllocAsync(NULL, 16, NULL));
	A(cuMemAllocAsync(&p, (size_t)1 << 60, NULL));
	A(cuMemAllocAsync(&p, 1000, NULL));
	A(cuMemAllocAsync(&q, 1000, NULL));
	A(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
	A(cuMemFreeAsync(p + 1, NULL));
	A(cuMemFreeAsync(p, NULL));
	A(cuMemFreeAsync(0, NULL));
	A(cuMemFree(q));
	A(cuMemAlloc(&q, 1000));
	A(cuMemFreeAsync(q, NULL));
	A(cuCtxSynchronize());
	for (int i = 0; i < 12; i++) {
		value = 0;
		printf("pool attribute %d = %s\n", i,
		       answer_name(cuMemPoolGetAttribute(pool, i, &value)));
	}
	value = 1000;
	A(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
	value = 0;
	A(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
	V(value);
	A(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
	value = 0;
	A(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
	A(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
	A(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
				&on));
	A(cuMemPoolTrimTo(pool, 0));
	A(cuMemPoolDestroy(pool));
	A(cuMemPoolCreate(&other, &props));
	A(cuMemPoolCreate(NULL, &props));
	A(cuMemPoolCreate(&other, NULL));
	A(cuMemAllocFromPoolAsync(&p, 1000, other, NULL));
	A(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
	V(pool == other);
	A(cuDeviceSetMemPool(0, other));
	A(cuDeviceGetMemPool(&pool, 0));
	V(pool == other);
	A(cuMemPoolDestroy(other));
	A(cuDeviceGetMemPool(&pool, 0));
	V(pool == other);
	A(cuMemFreeAsync(p, NULL));
}

/* What is the device's and not a context's: pools, their memory and that of graphs. */
static void after_reset(void)
{
	const CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
	};
	CUDA_MEM_ALLOC_NODE_PARAMS node = { .poolProps = props, .bytesize = 32 << 20 };
	CUmemoryPool pool, standard, again;
	CUdeviceptr p, q, plain;
	CUgraphExec exec;
	cuuint64_t used;
	CUgraphNode n;
	CUgraph g;

	answer_ctx();
	cuDeviceGetDefaultMemPool(&standard, 0);
	cuMemPoolCreate(&pool, &props);
	cuMemAlloc(&plain, 1000);
	cuGraphCreate(&g, 0);
	cuGraphAddMemAllocNode(&n, g, NULL, 0, &node);
	cuGraphInstantiate(&exec, g, 0);
	cuGraphLaunch(exec, NULL);
	A(cuMemAllocFromPoolAsync(&p, 32 << 20, pool, NULL));
	A(cuMemAllocAsync(&q, 32 << 20, NULL));
	A(cuCtxSynchronize());
	A(cuDevicePrimaryCtxReset(0));
	A(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	V(used);
	A(cuMemAllocFromPoolAsync(&p, 32 << 20, pool, NULL));
	answer_ctx();
	A(cuMemPoolGetAttribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	V(used);
	A(cuDeviceGetDefaultMemPool(&again, 0));
	V(again == standard);
	A(cuMemFree(plain));
	A(cuMemFreeAsync(p, NULL));
	A(cuMemFree(q));
	A(cuMemFree(node.dptr));
	A(cuMemFree(node.dptr));
	A(cuMemAllocFromPoolAsync(&p, 32 << 20, pool, NULL));
	A(cuMemPoolDestroy(pool));
	A(cuDevicePrimaryCtxRelease(0));
	answer_ctx();
	A(cuMemFreeAsync(p, NULL));
	A(cuMemFreeAsync(p, NULL));
}

static void advice(void)
{
	CUmemLocation gpu = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemLocation cpu = { .type = CU_MEM_LOCATION_TYPE_HOST };
	CUmemLocation far = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1000 };
	CUdeviceptr p, m;

	answer_ctx();
	cuMemAlloc(&p, 1000);
	cuMemAllocManaged(&m, 1000, CU_MEM_ATTACH_GLOBAL);
	A(cuMemPrefetchAsync(m, 1000, gpu, 0, NULL));
	A(cuMemPrefetchAsync(m, 1000, cpu, 0, NULL));
	A(cuMemPrefetchAsync(m, 1000, far, 0, NULL));
	A(cuMemPrefetchAsync(m, 1000, gpu, 1, NULL));
	A(cuMemPrefetchAsync(m, 0, gpu, 0, NULL));
	A(cuMemPrefetchAsync(m, 1001, gpu, 0, NULL));
	A(cuMemPrefetchAsync(p, 1000, gpu, 0, NULL));
	A(cuMemAdvise(m, 1000, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu));
	A(cuMemAdvise(m, 1000, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, cpu));
	A(cuMemAdvise(m, 1000, CU_MEM_ADVISE_SET_ACCESSED_BY, far));
	A(cuMemAdvise(m, 1000, 0, gpu));
	A(cuMemAdvise(m, 1000, 77, gpu));
	A(cuMemAdvise(m, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu));
	A(cuMemAdvise(p, 1000, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu));
	A(cuStreamAttachMemAsync(NULL, m, 0, CU_MEM_ATTACH_GLOBAL));
	A(cuStreamAttachMemAsync(NULL, m, 0, 77));
	A(cuStreamAttachMemAsync(NULL, p, 0, CU_MEM_ATTACH_GLOBAL));
}

const struct section memory_sections[] = {
	{ "allocations", allocations },
	{ "copies", copies },
	{ "copies_beyond", copies_beyond },
	{ "fills", fills },
	{ "boxes", boxes },
	{ "host_memory", host_memory },
	{ "pointers", pointers },
	{ "pools", pools },
	{ "after_reset", after_reset },
	{ "advice", advice },
	{ NULL, NULL },
};
