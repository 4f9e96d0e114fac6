// SPDX-License-Identifier: Apache-2.0
/* Records answers before cuInit(), of devices, contexts and cuGetProcAddress(). */
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"

static void before_init(void)
{
	CUdevice dev;
	CUcontext ctx;
	CUdeviceptr p;
	CUmoduleLoadingMode mode;
	CUlibrary lib;
	CUstream s;
	void *fn;
	int n;

	A(cuDeviceGetCount(&n));
	A(cuDeviceGetCount(NULL));
	A(cuDeviceGet(&dev, 0));
	A(cuDeviceGet(&dev, 7));
	A(cuCtxGetCurrent(&ctx));
	A(cuCtxSetCurrent(NULL));
	A(cuMemAlloc(&p, 16));
	A(cuMemAlloc(NULL, 16));
	A(cuMemFree(0));
	A(cuStreamCreate(&s, 0));
	A(cuStreamSynchronize(NULL));
	A(cuCtxSynchronize());
	A(cuModuleLoadData(NULL, NULL));
	A(cuModuleGetFunction(NULL, NULL, NULL));
	A(cuLibraryLoadData(&lib, answer_ptx, NULL, NULL, 0, NULL, NULL, 0));
	A(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	A(cuModuleGetLoadingMode(&mode));
	A(cuDriverGetVersion(&n));
	A(cuDriverGetVersion(NULL));
	A(cuGetProcAddress("cuInit", &fn, 13000, 0, NULL));
	A(cuPointerGetAttribute(&n, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 16));
	A(cuInit(1));
	A(cuDevicePrimaryCtxRetain(&ctx, 0));
}

static void error_texts(void)
{
	const char *name, *text;

	for (int i = 0; i < 1000; i++)
		if (!cuGetErrorName(i, &name) && !cuGetErrorString(i, &text))
			printf("%d %s: %s\n", i, name, text);
	A(cuGetErrorName(12345, &name));
	V(name == NULL);
	A(cuGetErrorString(12345, &text));
	V(text == NULL);
}

static void devices(void)
{
	char name[100], id[64] = "";
	CUdevice dev = 9;
	CUuuid uuid;
	size_t size;
	int n, m;

	A(cuInit(0));
	A(cuDeviceGet(&dev, -1));
	A(cuDeviceGet(&dev, 1000));
	A(cuDeviceGet(NULL, 0));
	A(cuDeviceGet(&dev, 0));
	V(dev);
	A(cuDeviceGetCount(NULL));
	A(cuDeviceGetName(NULL, 10, 0));
	A(cuDeviceGetName(name, 3, 0));
	V(strlen(name));
	A(cuDeviceGetName(name, 100, 1000));
	A(cuDeviceGetUuid(&uuid, 1000));
	A(cuDeviceGetUuid(NULL, 0));
	A(cuDeviceTotalMem(NULL, 0));
	A(cuDeviceTotalMem(&size, 1000));
	A(cuDeviceGetAttribute(NULL, 1, 0));
	A(cuDeviceGetAttribute(&n, 0, 0));
	A(cuDeviceGetAttribute(&n, -1, 0));
	A(cuDeviceGetAttribute(&n, 5000, 0));
	A(cuDeviceGetAttribute(&n, 1, 1000));
	A(cuDeviceGetAttribute(&n, 5000, 1000));
	A(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MAX - 1, 0));
	A(cuDeviceComputeCapability(&n, &m, 0));
	A(cuDeviceComputeCapability(NULL, &m, 0));
	A(cuDeviceGetPCIBusId(id, 5, 0));
	A(cuDeviceGetPCIBusId(id, 13, 0));
	V(strlen(id));
	A(cuDeviceGetPCIBusId(id, 64, 0));
	V(strlen(id));
	A(cuDeviceGetByPCIBusId(&dev, id));
	A(cuDeviceGetByPCIBusId(&dev, "no such thing"));
	A(cuDeviceGetByPCIBusId(&dev, "0000:7f:1f.0"));
	A(cuDeviceGetByPCIBusId(&dev, NULL));
	A(cuDeviceCanAccessPeer(&n, 0, 0));
	V(n);
	A(cuDeviceCanAccessPeer(&n, 0, 1000));
	A(cuDeviceGetExecAffinitySupport(&n, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
}

static void attributes(void)
{
	int n;

	cuInit(0);
	for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++) {
		CUresult rc = cuDeviceGetAttribute(&n, i, 0);

		printf("attribute %d = %s\n", i, answer_name(rc));
	}
}

static void no_context(void)
{
	CUcontext ctx = NULL;
	CUstream s;
	CUevent e;
	CUmodule mod;
	CUdevice dev;
	CUdeviceptr p;
	CUlibrary lib;
	CUkernel k;
	CUfunction f;
	size_t n;
	unsigned int flags;
	unsigned long long id;
	void *h;
	int active, least, greatest;

	A(cuInit(0));
	A(cuCtxGetCurrent(&ctx));
	V(ctx == NULL);
	A(cuCtxGetCurrent(NULL));
	A(cuCtxGetDevice(&dev));
	A(cuCtxGetDevice(NULL));
	A(cuCtxSynchronize());
	A(cuCtxPopCurrent(&ctx));
	A(cuCtxPushCurrent(NULL));
	A(cuCtxSetCurrent(NULL));
	A(cuCtxGetFlags(&flags));
	A(cuCtxGetLimit(&n, CU_LIMIT_STACK_SIZE));
	A(cuCtxGetApiVersion(NULL, &flags));
	A(cuCtxGetId(NULL, &id));
	A(cuCtxGetStreamPriorityRange(&least, &greatest));
	A(cuCtxDestroy(NULL));
	A(cuMemAlloc(&p, 16));
	A(cuMemFree(0));
	A(cuMemFree(512));
	A(cuMemGetInfo(&n, &n));
	A(cuMemAllocHost(&h, 16));
	A(cuMemFreeHost(NULL));
	A(cuMemcpyHtoD(512, &n, 4));
	A(cuMemsetD8(512, 0, 4));
	A(cuStreamCreate(&s, 0));
	A(cuStreamSynchronize(NULL));
	A(cuStreamDestroy(NULL));
	A(cuEventCreate(&e, 0));
	A(cuModuleLoadData(&mod, answer_ptx));
	A(cuModuleLoadData(NULL, answer_ptx));
	A(cuPointerGetAttribute(&n, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 512));
	A(cuLibraryLoadData(&lib, answer_ptx, NULL, NULL, 0, NULL, NULL, 0));
	A(cuLibraryGetKernel(&k, lib, "add1"));
	A(cuKernelGetFunction(&f, k));
	A(cuLibraryGetModule(&mod, lib));
	A(cuLibraryGetGlobal(&p, &n, lib, "counter"));
	A(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	A(cuLibraryUnload(lib));
	A(cuProfilerStart());
	A(cuDevicePrimaryCtxGetState(0, &flags, &active));
	V(active);
}

static void contexts(void)
{
	CUcontext a = NULL, b = NULL, c = NULL;
	CUdeviceptr p;
	CUdevice dev = 9;
	unsigned int flags = 99;
	unsigned long long id;

	A(cuInit(0));
	A(cuCtxCreate(&a, NULL, 0, 1000));
	A(cuCtxCreate(NULL, NULL, 0, 0));
	A(cuCtxCreate(&a, NULL, 3, 0));
	A(cuCtxCreate(&a, NULL, 0x100, 0));
	A(cuCtxCreate(&a, NULL, CU_CTX_SCHED_SPIN, 0));
	A(cuCtxGetFlags(&flags));
	V(flags);
	A(cuCtxGetFlags(NULL));
	A(cuCtxCreate(&b, NULL, 0, 0));
	A(cuCtxGetCurrent(&c));
	V(c == b);
	A(cuCtxGetDevice(&dev));
	V(dev);
	A(cuCtxGetId(NULL, &id));
	A(cuCtxGetId(a, NULL));
	A(cuCtxGetApiVersion(a, &flags));
	V(flags);
	A(cuCtxGetApiVersion(a, NULL));
	A(cuCtxPopCurrent(&c));
	V(c == b);
	A(cuCtxGetCurrent(&c));
	V(c == a);
	A(cuCtxPushCurrent(b));
	A(cuCtxPushCurrent(b));
	A(cuCtxDestroy(b));
	A(cuCtxGetCurrent(&c));
	V(c == b);
	A(cuMemAlloc(&p, 16));
	A(cuCtxSynchronize());
	A(cuCtxPopCurrent(&c));
	A(cuCtxGetCurrent(&c));
	V(c == a);
	A(cuCtxSynchronize_v2(a));
	A(cuCtxSynchronize_v2(NULL));
	A(cuCtxGetDevice_v2(&dev, a));
	A(cuCtxSetCurrent(NULL));
	A(cuCtxSynchronize_v2(NULL));
	A(cuCtxSynchronize_v2(a));
	A(cuCtxGetCurrent(&c));
	V(c == NULL);
	A(cuCtxDestroy(a));
	A(cuCtxGetCurrent(&c));
	V(c == NULL);
	A(cuMemAlloc(&p, 16));
}

static void primary(void)
{
	CUcontext a = NULL, b = NULL, c = NULL;
	CUdeviceptr p;
	unsigned int flags = 9;
	int active = 9;

	A(cuInit(0));
	A(cuDevicePrimaryCtxRelease(0));
	A(cuDevicePrimaryCtxReset(0));
	A(cuDevicePrimaryCtxRetain(NULL, 0));
	A(cuDevicePrimaryCtxRetain(&a, 1000));
	A(cuDevicePrimaryCtxSetFlags(0, 3));
	A(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
	A(cuDevicePrimaryCtxGetState(0, &flags, &active));
	V(flags);
	V(active);
	A(cuDevicePrimaryCtxRetain(&a, 0));
	A(cuDevicePrimaryCtxGetState(0, &flags, &active));
	V(flags);
	V(active);
	A(cuDevicePrimaryCtxGetState(0, NULL, &active));
	A(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
	A(cuCtxSetCurrent(a));
	A(cuCtxGetFlags(&flags));
	V(flags);
	A(cuCtxDestroy(a));
	A(cuMemAlloc(&p, 1000));
	A(cuDevicePrimaryCtxRetain(&b, 0));
	V(a == b);
	A(cuDevicePrimaryCtxRelease(0));
	A(cuMemFree(p));
	A(cuMemAlloc(&p, 1000));
	A(cuDevicePrimaryCtxReset(0));
	A(cuDevicePrimaryCtxGetState(0, &flags, &active));
	V(active);
	A(cuCtxGetCurrent(&c));
	V(c == a);
	A(cuMemAlloc(&p, 1000));
	A(cuCtxSynchronize());
	A(cuCtxSetCurrent(a));
	A(cuDevicePrimaryCtxRetain(&b, 0));
	V(a == b);
	A(cuMemAlloc(&p, 1000));
	A(cuCtxSetCurrent(b));
	A(cuMemAlloc(&p, 1000));
	A(cuDevicePrimaryCtxRelease(0));
	A(cuMemAlloc(&p, 1000));
	A(cuDevicePrimaryCtxRelease(0));
	A(cuDevicePrimaryCtxRelease(0));
	A(cuMemAlloc(&p, 1000));
}

static void limits(void)
{
	CUfunc_cache cache;
	CUsharedconfig banks;
	size_t n = 0;
	int least, greatest;

	answer_ctx();
	for (int i = 0; i < 12; i++) {
		n = 0;
		printf("cuCtxGetLimit(%d) = %s", i,
		       answer_name(cuCtxGetLimit(&n, i)));
		printf(", %zu\n", n);
		printf("cuCtxSetLimit(%d, 1000) = %s", i,
		       answer_name(cuCtxSetLimit(i, 1000)));
		cuCtxGetLimit(&n, i);
		printf(", %zu\n", n);
		printf("cuCtxSetLimit(%d, huge) = %s\n", i,
		       answer_name(cuCtxSetLimit(i, (size_t)1 << 40)));
	}
	A(cuCtxGetLimit(NULL, 0));
	A(cuCtxGetStreamPriorityRange(&least, &greatest));
	V(least);
	V(greatest);
	A(cuCtxGetStreamPriorityRange(NULL, NULL));
	A(cuCtxGetCacheConfig(&cache));
	V(cache);
	A(cuCtxGetCacheConfig(NULL));
	A(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
	A(cuCtxGetCacheConfig(&cache));
	V(cache);
	A(cuCtxSetCacheConfig(7));
	A(cuCtxGetSharedMemConfig(&banks));
	V(banks);
	A(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
	A(cuCtxGetSharedMemConfig(&banks));
	V(banks);
	A(cuCtxSetSharedMemConfig(7));
	A(cuCtxSetFlags(3));
	A(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
	A(cuCtxResetPersistingL2Cache());
}

static void after_fork(void)
{
	CUdeviceptr p;
	CUcontext ctx;
	int n;

	answer_ctx();
	fflush(stdout);
	if (!fork()) {
		A(cuInit(0));
		A(cuDeviceGetCount(&n));
		A(cuCtxGetCurrent(&ctx));
		A(cuMemAlloc(&p, 16));
		A(cuCtxSynchronize());
		A(cuDriverGetVersion(&n));
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	A(cuMemAlloc(&p, 16));
}

static void look_up(const char *name, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status = 99;
	void *fn = (void *)1;
	CUresult rc = cuGetProcAddress(name, &fn, version, flags, &status);

	printf("look up %s for %d with %d = %s, status %d, %s\n", name, version,
	       (int)flags, answer_name(rc), status, fn ? "found" : "NULL");
}

static void proc_address(void)
{
	CUdriverProcAddressQueryResult status = 99;
	void *fn = NULL, *fn2 = NULL;

	A(cuInit(0));
	look_up("cuMemAlloc", 13000, 0);
	look_up("cuMemAlloc", 3020, 0);
	look_up("cuMemAlloc", 2000, 0);
	look_up("cuMemAlloc", 1000, 0);
	look_up("cuMemAlloc", 0, 0);
	look_up("cuMemAlloc", -1, 0);
	look_up("cuMemAlloc", 13010, 0);
	look_up("cuMemAlloc", 13020, 0);
	look_up("cuMemAlloc", 14000, 0);
	look_up("cuMemAlloc", 99000, 0);
	look_up("cuMemAlloc", -2, 0);
	look_up("cuMemAlloc", 13000, 1);
	look_up("cuMemAlloc", 13000, 2);
	look_up("cuMemAlloc", 13000, 3);
	look_up("cuMemAlloc", 13000, 4);
	look_up("cuMemAlloc", 13000, 8);
	look_up("cuMemAlloc_v2", 13000, 0);
	look_up("cuLaunchKernel_ptsz", 13000, 0);
	look_up("cuLaunchKernelEx", 11000, 0);
	look_up("cuLaunchKernelEx", 11060, 2);
	look_up("cuLaunchKernel", 6000, 2);
	look_up("cuNoSuchThing", 13000, 0);
	look_up("", 13000, 0);
	look_up("cuProfilerStart", 13000, 0);
	look_up("cuGetProcAddress", 13000, 0);
	look_up("cuCtxCreate", 13000, 0);
	A(cuGetProcAddress("cuInit", &fn, 13000, 0, NULL));
	V(fn != NULL);
	A(cuGetProcAddress("cuNoSuchThing", &fn, 13000, 0, NULL));
	V(fn != NULL);
	cuGetProcAddress("cuLaunchKernel", &fn, 13000, 0, NULL);
	cuGetProcAddress("cuLaunchKernel", &fn2, 13000, 2, NULL);
	V(fn == fn2);
	cuGetProcAddress("cuCtxCreate", &fn, 11040, 0, NULL);
	cuGetProcAddress("cuCtxCreate", &fn2, 13000, 0, NULL);
	V(fn == fn2);
	cuGetProcAddress("cuMemAlloc", &fn, 13000, 0, NULL);
	V(fn == (void *)cuMemAlloc);
	cuGetProcAddress("cuLaunchKernel", &fn, 13000, 0, NULL);
	cuGetProcAddress("cuLaunchKernel", &fn2, 13000, 3, NULL);
	V(fn == fn2);
	cuGetProcAddress("cuLaunchKernel", &fn, 13000, 0, NULL);
	cuGetProcAddress("cuLaunchKernel", &fn2, 13000, 1, NULL);
	V(fn == fn2);
	cuGetProcAddress("cuCtxCreate", &fn, -1, 0, NULL);
	cuGetProcAddress("cuCtxCreate", &fn2, 13000, 0, NULL);
	V(fn == fn2);
	cuGetProcAddress("cuCtxCreate", &fn, 12999, 0, NULL);
	V(fn == fn2);
	cuGetProcAddress("cuCtxCreate", &fn, 3020, 0, NULL);
	cuGetProcAddress("cuCtxCreate", &fn2, 11030, 0, NULL);
	V(fn == fn2);
	(void)status;
}

const struct section device_sections[] = {
	{ "before_init", before_init },
	{ "error_texts", error_texts },
	{ "devices", devices },
	{ "attributes", attributes },
	{ "no_context", no_context },
	{ "contexts", contexts },
	{ "primary", primary },
	{ "limits", limits },
	{ "after_fork", after_fork },
	{ "proc_address", proc_address },
	{ NULL, NULL },
};
