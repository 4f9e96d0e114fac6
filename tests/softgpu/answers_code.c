// SPDX-License-Identifier: Apache-2.0
/* Records answers of modules, libraries, functions, launches and faults. */
#include "answers.h"

static const char newer[] = ".version 8.7\n.target sm_120\n.address_size 64\n"
	".visible .entry k()\n{ ret; }\n";
static const char future[] = ".version 99.0\n.target sm_75\n.address_size 64\n"
	".visible .entry k()\n{ ret; }\n";
static const char wrong[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry k()\n{ frobnicate.u32 %r1; ret; }\n";
static const char unresolved[] = ".version 7.0\n.target sm_70\n"
	".address_size 64\n.extern .func other();\n"
	".visible .entry k()\n{ call other, (); ret; }\n";
static const unsigned int elf[64] = { 0x464c457f, 0x00010102 };
static const unsigned int fatbin[64] = { 0xba55ed50, 0x00100001, 0 };
static const unsigned int fatbin_bad[64] = { 0xba55ed50, 0x00100001, 16, 0, 1 };

static void bad_images(void)
{
	CUmodule mod;

	answer_ctx();
	A(cuModuleLoadData(NULL, answer_ptx));
	A(cuModuleLoadData(&mod, NULL));
	A(cuModuleLoadData(&mod, ""));
	A(cuModuleLoadData(&mod, "hello, world"));
	A(cuModuleLoadData(&mod, ".version 7.0\n"));
	A(cuModuleLoadData(&mod, "\n // a comment\n/* and one */\n.version 7.0\n"
			   ".target sm_70\n.address_size 64\n"));
	A(cuModuleLoadData(&mod, "hello .version 7.0\n.target sm_70\n"));
	A(cuModuleLoadData(&mod, ".target sm_70\n.version 7.0\n"));
	A(cuModuleLoadData(&mod, newer));
	A(cuModuleLoadData(&mod, future));
	A(cuModuleLoadData(&mod, wrong));
	A(cuModuleLoadData(&mod, unresolved));
	A(cuModuleLoadData(&mod, elf));
	A(cuModuleLoadData(&mod, fatbin));
	A(cuModuleLoadData(&mod, fatbin_bad));
	A(cuModuleLoadFatBinary(&mod, fatbin));
	A(cuModuleLoad(&mod, "/no/such/file"));
	A(cuModuleLoad(&mod, NULL));
	A(cuModuleLoad(&mod, "/dev/null"));
}

static void jit_log(void)
{
	char error[256] = "x", info[256] = "x";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
				   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
				   CU_JIT_INFO_LOG_BUFFER,
				   CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { error, (void *)256, info, (void *)256 };
	CUjit_option bad = 500;
	CUmodule mod;

	answer_ctx();
	A(cuModuleLoadDataEx(&mod, wrong, 4, options, values));
	V(strstr(error, "frobnicate") != NULL);
	V((size_t)values[1] - strlen(error) < 2);
	V((size_t)values[3]);
	values[1] = values[3] = (void *)256;
	A(cuModuleLoadDataEx(&mod, answer_ptx, 4, options, values));
	V((size_t)values[1]);
	V(strlen(error));
	values[1] = (void *)10;
	A(cuModuleLoadDataEx(&mod, wrong, 2, options, values));
	V(strlen(error));
	V((size_t)values[1]);
	A(cuModuleLoadDataEx(&mod, answer_ptx, 1, &bad, values));
	A(cuModuleLoadDataEx(&mod, answer_ptx, 1, NULL, NULL));
}

static void modules(void)
{
	CUmodule mod = answer_module();
	CUfunction f = NULL, f2 = NULL, list[20] = { 0 };
	CUmoduleLoadingMode mode = 9;
	static char buf[8192];
	unsigned int n = 99;
	CUdeviceptr p;
	size_t size;

	A(cuModuleGetFunction(&f, mod, "add1"));
	A(cuModuleGetFunction(&f2, mod, "add1"));
	V(f == f2);
	A(cuModuleGetFunction(&f, mod, "absent"));
	A(cuModuleGetFunction(&f, mod, ""));
	A(cuModuleGetFunction(&f, mod, NULL));
	A(cuModuleGetFunction(NULL, mod, "add1"));
	A(cuModuleGetFunction(&f, NULL, "add1"));
	A(cuModuleGetGlobal(&p, &size, mod, "counter"));
	V(size);
	A(cuModuleGetGlobal(&p, &size, mod, "table"));
	V(size);
	A(cuModuleGetGlobal(&p, &size, mod, "room"));
	V(size);
	A(cuModuleGetGlobal(&p, NULL, mod, "counter"));
	A(cuModuleGetGlobal(NULL, &size, mod, "counter"));
	A(cuModuleGetGlobal(NULL, NULL, mod, "counter"));
	A(cuModuleGetGlobal(&p, &size, mod, "absent"));
	A(cuModuleGetGlobal(&p, &size, mod, NULL));
	A(cuModuleGetGlobal(&p, &size, NULL, "counter"));
	A(cuMemGetAddressRange(&p, &size, p));
	cuModuleGetGlobal(&p, &size, mod, "counter");
	A(cuMemcpyDtoH(&n, p, 4));
	V(n);
	A(cuMemFree(p));
	A(cuModuleGetFunctionCount(&n, mod));
	V(n);
	A(cuModuleGetFunctionCount(NULL, mod));
	A(cuModuleEnumerateFunctions(list, n, mod));
	A(cuModuleEnumerateFunctions(list, 0, mod));
	A(cuModuleEnumerateFunctions(list, n + 5, mod));
	A(cuModuleEnumerateFunctions(NULL, n, mod));
	A(cuModuleGetLoadingMode(&mode));
	V(mode);
	cuModuleGetGlobal(&p, &size, mod, "counter");
	A(cuMemcpyDtoH(buf, p, 8));
	cuModuleGetGlobal(&p, &size, mod, "room");
	A(cuMemcpyDtoH(buf, p, 4000));
	A(cuMemcpyDtoH(buf, p, 4001));
	A(cuModuleUnload(mod));
	A(cuModuleUnload(NULL));
}

static void libraries(void)
{
	CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED, bad = 77;
	CUlibrary lib, got = NULL;
	CUkernel k = NULL, k2 = NULL, list[20];
	CUfunction f = NULL, f2 = NULL;
	CUmodule mod = NULL, mod2 = NULL;
	CUdeviceptr p;
	const char *name = "";
	unsigned int n = 0;
	size_t size, offset;
	void *value = NULL;
	int v;

	answer_ctx();
	A(cuLibraryLoadData(NULL, answer_ptx, NULL, NULL, 0, NULL, NULL, 0));
	A(cuLibraryLoadData(&lib, NULL, NULL, NULL, 0, NULL, NULL, 0));
	A(cuLibraryLoadData(&lib, wrong, NULL, NULL, 0, NULL, NULL, 0));
	A(cuLibraryLoadData(&lib, elf, NULL, NULL, 0, NULL, NULL, 0));
	A(cuLibraryLoadData(&lib, "hello", NULL, NULL, 0, NULL, NULL, 0));
	A(cuLibraryLoadData(&lib, answer_ptx, NULL, NULL, 0, &bad, &value, 1));
	A(cuLibraryLoadFromFile(&lib, "/no/such/file", NULL, NULL, 0, NULL, NULL, 0));
	A(cuLibraryLoadFromFile(&lib, "/dev/null", NULL, NULL, 0, &option, &value, 1));
	A(cuLibraryLoadData(&lib, answer_ptx, NULL, NULL, 0, &option, &value, 1));
	A(cuLibraryGetKernel(&k, lib, "add1"));
	A(cuLibraryGetKernel(&k2, lib, "add1"));
	V(k == k2);
	A(cuLibraryGetKernel(&k2, lib, "absent"));
	A(cuLibraryGetKernel(&k2, lib, NULL));
	A(cuLibraryGetKernel(NULL, lib, "add1"));
	A(cuLibraryGetKernel(&k2, NULL, "add1"));
	A(cuLibraryGetKernelCount(&n, lib));
	V(n);
	A(cuLibraryGetKernelCount(NULL, lib));
	A(cuLibraryEnumerateKernels(list, n, lib));
	A(cuLibraryEnumerateKernels(list, 0, lib));
	A(cuLibraryEnumerateKernels(NULL, 1, lib));
	A(cuKernelGetName(&name, k));
	V(!strcmp(name, "add1"));
	A(cuKernelGetName(NULL, k));
	A(cuKernelGetName(&name, NULL));
	A(cuKernelGetLibrary(&got, k));
	V(got == lib);
	A(cuKernelGetFunction(&f, k));
	A(cuKernelGetFunction(NULL, k));
	A(cuKernelGetFunction(&f2, NULL));
	A(cuLibraryGetModule(&mod, lib));
	A(cuFuncGetModule(&mod2, f));
	V(mod == mod2);
	A(cuModuleGetFunction(&f2, mod, "add1"));
	V(f == f2);
	A(cuModuleUnload(mod));
	A(cuKernelGetParamInfo(k, 1, &offset, &size));
	V(offset);
	V(size);
	A(cuKernelGetParamInfo(k, 2, &offset, &size));
	A(cuKernelGetParamInfo(k, 0, &offset, NULL));
	A(cuKernelGetParamInfo(k, 0, NULL, &size));
	A(cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k, 0));
	V(v);
	A(cuKernelGetAttribute(&v, 0, k, 1000));
	A(cuKernelGetAttribute(&v, 999, k, 0));
	A(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, k, 0));
	A(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
	V(v);
	A(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 90000));
	A(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 80000, k, 0));
	A(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
	V(v);
	A(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 1, k, 0));
	A(cuKernelSetCacheConfig(k, CU_FUNC_CACHE_PREFER_L1, 0));
	A(cuLibraryGetGlobal(&p, &size, lib, "counter"));
	V(size);
	A(cuLibraryGetGlobal(&p, &size, lib, "absent"));
	A(cuDevicePrimaryCtxReset(0));
	A(cuKernelGetName(&name, k));
	answer_ctx();
	A(cuKernelGetFunction(&f, k));
	A(cuLibraryUnload(lib));
	A(cuLibraryUnload(NULL));
}

static void linking(void)
{
	char log[256] = "x";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
				   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)256 }, *image = NULL;
	CUlinkState l = NULL;
	CUmodule mod;
	size_t size;

	answer_ctx();
	A(cuLinkCreate(0, NULL, NULL, NULL));
	A(cuLinkCreate(2, options, values, &l));
	A(cuLinkAddData(l, CU_JIT_INPUT_PTX, NULL, 10, "a", 0, NULL, NULL));
	A(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)unresolved, 0, "a", 0, NULL, NULL));
	A(cuLinkAddData(l, 77, (void *)unresolved, sizeof(unresolved), "a", 0, NULL, NULL));
	A(cuLinkAddFile(l, CU_JIT_INPUT_PTX, "/no/such/file", 0, NULL, NULL));
	A(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)unresolved, sizeof(unresolved), "a", 0,
			    NULL, NULL));
	A(cuLinkComplete(l, NULL, &size));
	A(cuLinkComplete(l, &image, &size));
	A(cuLinkDestroy(l));
	A(cuLinkCreate(0, NULL, NULL, &l));
	A(cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)answer_ptx, strlen(answer_ptx) + 1,
			    NULL, 0, NULL, NULL));
	A(cuLinkComplete(l, &image, &size));
	A(cuModuleLoadData(&mod, image));
	A(cuLinkDestroy(l));
	A(cuLinkDestroy(NULL));
}

static void functions(void)
{
	CUmodule mod = answer_module();
	CUfunctionLoadingState state = 9;
	CUfunction f, s;
	const char *name = "";
	size_t offset, size;
	int v = 0;

	cuModuleGetFunction(&f, mod, "mixed");
	cuModuleGetFunction(&s, mod, "shared4k");
	for (size_t i = 0; i < 7; i++) {
		CUresult rc = cuFuncGetParamInfo(f, i, &offset, &size);

		printf("parameter %zu = %s", i, answer_name(rc));
		if (!rc)
			printf(", %zu bytes at %zu", size, offset);
		printf("\n");
	}
	A(cuFuncGetName(&name, f));
	V(!strcmp(name, "mixed"));
	A(cuFuncGetName(NULL, f));
	A(cuFuncGetName(&name, NULL));
	A(cuFuncGetModule(NULL, f));
	A(cuFuncGetModule(&mod, NULL));
	A(cuFuncIsLoaded(&state, f));
	A(cuFuncLoad(f));
	A(cuFuncIsLoaded(&state, f));
	V(state);
	A(cuFuncGetAttribute(NULL, 0, f));
	A(cuFuncGetAttribute(&v, 0, NULL));
	A(cuFuncGetAttribute(&v, -1, f));
	A(cuFuncGetAttribute(&v, 999, f));
	for (int i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++) {
		A(cuFuncGetAttribute(&v, i, s));
		if (i != CU_FUNC_ATTRIBUTE_NUM_REGS)
			V(v);
	}
	for (int i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++)
		printf("cuFuncSetAttribute(s, %d, 1) = %s\n", i,
		       answer_name(cuFuncSetAttribute(s, i, 1)));
	A(cuFuncSetAttribute(s, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 4096));
	A(cuFuncSetAttribute(s, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 4095));
	A(cuFuncSetAttribute(s, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
	A(cuFuncSetAttribute(s, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101));
	A(cuFuncSetAttribute(s, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1));
	A(cuFuncSetAttribute(s, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -2));
	A(cuFuncSetCacheConfig(s, CU_FUNC_CACHE_PREFER_L1));
	A(cuFuncSetCacheConfig(s, 9));
	A(cuFuncSetSharedMemConfig(s, 9));
}

static CUresult go(CUfunction f, int gx, int gy, int gz, int bx, int by, int bz,
		   int shared, void **params, void **extra)
{
	CUresult rc = cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, NULL,
				     params, extra);
	CUresult later = cuCtxSynchronize();

	return rc ? rc : later;
}

static void launches(void)
{
	CUmodule mod = answer_module();
	CUfunction none, add1, exact, s;
	CUdeviceptr p;
	unsigned int n = 3, value = 0;
	void *params[] = { &p, &n };
	struct { CUdeviceptr p; unsigned int n, rest[64]; } packed = { 0 };
	size_t exact_size = 12, short_size = 8, long_size = 64;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
			  CU_LAUNCH_PARAM_BUFFER_SIZE, &exact_size,
			  CU_LAUNCH_PARAM_END };
	void *odd[] = { (void *)77, NULL, CU_LAUNCH_PARAM_END };

	cuModuleGetFunction(&none, mod, "none");
	cuModuleGetFunction(&add1, mod, "add1");
	cuModuleGetFunction(&exact, mod, "exact");
	cuModuleGetFunction(&s, mod, "shared4k");
	cuMemAlloc(&p, 64);
	cuMemsetD8(p, 0, 64);
	packed.p = p;
	packed.n = 10;
	A(go(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL));
	A(go(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL));
	A(go(none, 0, 1, 1, 1, 1, 1, 0, NULL, NULL));
	A(go(none, 1, 1, 1, 0, 1, 1, 0, NULL, NULL));
	A(go(none, 1, 1, 1, 1024, 1, 1, 0, NULL, NULL));
	A(go(none, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL));
	A(go(none, 1, 1, 1, 4096, 1, 1, 0, NULL, NULL));
	A(go(none, 1, 1, 1, 32, 33, 1, 0, NULL, NULL));
	A(go(none, 1, 1, 1, 1, 1, 64, 0, NULL, NULL));
	A(go(none, 1, 1, 1, 1, 1, 65, 0, NULL, NULL));
	A(go(none, 1, 65535, 1, 1, 1, 1, 0, NULL, NULL));
	A(go(none, 1, 65536, 1, 1, 1, 1, 0, NULL, NULL));
	A(go(none, 1, 1, 65536, 1, 1, 1, 0, NULL, NULL));
	A(go(none, -1, 1, 1, 1, 1, 1, 0, NULL, NULL));
	A(go(none, 1, 1, 1, 1, 1, 1, 49152, NULL, NULL));
	A(go(none, 1, 1, 1, 1, 1, 1, 49153, NULL, NULL));
	A(go(s, 1, 1, 1, 1, 1, 1, 45056, NULL, NULL));
	A(go(s, 1, 1, 1, 1, 1, 1, 45057, NULL, NULL));
	A(go(s, 1, 1, 1, 1, 1, 1, 500000, NULL, NULL));
	A(go(add1, 1, 1, 1, 1, 1, 1, 0, params, NULL));
	cuMemcpyDtoH(&value, p, 4);
	V(value);
	A(go(add1, 1, 1, 1, 1, 1, 1, 0, NULL, extra));
	cuMemcpyDtoH(&value, p, 4);
	V(value);
	A(go(add1, 1, 1, 1, 1, 1, 1, 0, params, extra));
	A(go(add1, 1, 1, 1, 1, 1, 1, 0, NULL, NULL));
	A(go(add1, 1, 1, 1, 256, 1, 1, 0, params, NULL));
	A(go(add1, 1, 1, 1, 257, 1, 1, 0, params, NULL));
	extra[3] = &short_size;
	A(go(add1, 1, 1, 1, 1, 1, 1, 0, NULL, extra));
	for (long_size = 9; long_size < 40; long_size++) {
		extra[3] = &long_size;
		printf("extra of %zu bytes = %s\n", long_size,
		       answer_name(go(add1, 1, 1, 1, 1, 1, 1, 0, NULL, extra)));
	}
	A(go(add1, 1, 1, 1, 1, 1, 1, 0, NULL, odd));
	A(go(none, 1, 1, 1, 1, 1, 1, 0, params, NULL));
	A(go(exact, 1, 1, 1, 32, 2, 1, 0, NULL, NULL));
	A(go(exact, 1, 1, 1, 64, 1, 1, 0, NULL, NULL));
}

static void launches_ex(void)
{
	CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
				   .value.cooperative = 1 };
	CUlaunchConfig c = { 1, 1, 1, 1, 1, 1, 0, NULL, NULL, 0 };
	CUfunction none = answer_func("none");

	A(cuLaunchKernelEx(NULL, none, NULL, NULL));
	A(cuLaunchKernelEx(&c, none, NULL, NULL));
	c.numAttrs = 1;
	A(cuLaunchKernelEx(&c, none, NULL, NULL));
	c.attrs = &attr;
	A(cuLaunchKernelEx(&c, none, NULL, NULL));
	attr.id = 200;
	A(cuLaunchKernelEx(&c, none, NULL, NULL));
	attr.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
	attr.value.priority = -1;
	A(cuLaunchKernelEx(&c, none, NULL, NULL));
	attr.id = CU_LAUNCH_ATTRIBUTE_IGNORE;
	A(cuLaunchKernelEx(&c, none, NULL, NULL));
	A(cuLaunchCooperativeKernel(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL));
	A(cuLaunchCooperativeKernel(none, 1000000, 1, 1, 1024, 1, 1, 0, NULL, NULL));
	A(cuLaunchCooperativeKernel(none, 0, 1, 1, 1024, 1, 1, 0, NULL, NULL));
	A(cuCtxSynchronize());
}

static void occupancy(void)
{
	CUfunction none = answer_func("none");
	int n = 0, m = 0;
	size_t size;

	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, none, 256, 0));
	V(n);
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, none, 1024, 0));
	V(n);
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, none, 1, 0));
	V(n);
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, none, 33, 0));
	V(n);
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, none, 256, 40000));
	V(n);
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, none, 256, 100000));
	V(n);
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, none, 256, 1000000));
	V(n);
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, none, 2048, 0));
	V(n);
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, none, 0, 0));
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, none, -1, 0));
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, none, 256, 0));
	A(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, NULL, 256, 0));
	A(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, none, 256, 0, 8));
	A(cuOccupancyMaxPotentialBlockSize(&n, &m, none, NULL, 0, 0));
	V(m);
	A(cuOccupancyMaxPotentialBlockSize(&n, &m, none, NULL, 0, 100));
	V(m);
	A(cuOccupancyMaxPotentialBlockSize(&n, &m, answer_func("add1"), NULL, 0, 0));
	V(m);
	A(cuOccupancyMaxPotentialBlockSize(NULL, &m, none, NULL, 0, 0));
	A(cuOccupancyMaxPotentialBlockSize(&n, &m, none, NULL, 0, -1));
	A(cuOccupancyAvailableDynamicSMemPerBlock(&size, none, 1, 256));
	V(size);
	A(cuOccupancyAvailableDynamicSMemPerBlock(&size, none, 4, 256));
	V(size);
	A(cuOccupancyAvailableDynamicSMemPerBlock(&size, none, 9, 256));
	A(cuOccupancyAvailableDynamicSMemPerBlock(&size, none, 0, 256));
}

static void after_fault(CUfunction f, void **params)
{
	CUcontext ctx, got;
	CUdeviceptr p, q;
	CUstream s;
	CUevent e;
	CUmodule mod;
	char buf[4];
	size_t n;
	int v;

	cuCtxGetCurrent(&ctx);
	cuMemAlloc(&q, 16);
	cuStreamCreate(&s, 0);
	cuEventCreate(&e, 0);
	A(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	A(cuCtxSynchronize());
	A(cuCtxSynchronize());
	A(cuStreamSynchronize(s));
	A(cuStreamSynchronize(NULL));
	A(cuStreamQuery(s));
	A(cuEventRecord(e, s));
	A(cuEventQuery(e));
	A(cuEventSynchronize(e));
	A(cuMemAlloc(&p, 16));
	A(cuMemcpyDtoH(buf, q, 4));
	A(cuMemGetInfo(&n, &n));
	A(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	A(cuModuleLoadData(&mod, answer_ptx));
	A(cuStreamCreate(&s, 0));
	A(cuCtxGetCurrent(&got));
	A(cuCtxGetDevice(&v));
	A(cuDeviceGetAttribute(&v, 1, 0));
	A(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, q));
	A(cuFuncGetAttribute(&v, 0, f));
	A(cuCtxGetLimit(&n, 0));
	A(cuMemFree(q));
	A(cuEventDestroy(e));
	A(cuStreamDestroy(s));
	A(cuDevicePrimaryCtxReset(0));
	A(cuDevicePrimaryCtxRetain(&ctx, 0));
	A(cuCtxSetCurrent(ctx));
	A(cuMemAlloc(&p, 16));
	A(cuCtxSynchronize());
}

static void fault_null(void)
{
	CUdeviceptr p = 0;
	void *params[] = { &p };

	after_fault(answer_func("store"), params);
}

static void fault_misaligned(void)
{
	CUfunction f = answer_func("store");
	CUdeviceptr p;
	void *params[] = { &p };

	cuMemAlloc(&p, 16);
	p += 1;
	after_fault(f, params);
}

static void fault_trap(void)
{
	after_fault(answer_func("dies"), NULL);
}

static void fault_host(void)
{
	CUfunction f = answer_func("store");
	void *params[1];
	CUdeviceptr p;
	void *h;

	cuMemAllocHost(&h, 16);
	p = (CUdeviceptr)h;
	params[0] = &p;
	A(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	A(cuCtxSynchronize());
	V(*(int *)h);
}

static void fault_own_context(void)
{
	CUcontext a, b;
	CUdeviceptr p = 0, q;
	void *params[] = { &p };
	CUmodule mod;
	CUfunction f;

	cuInit(0);
	cuCtxCreate(&a, NULL, 0, 0);
	cuCtxCreate(&b, NULL, 0, 0);
	cuModuleLoadData(&mod, answer_ptx);
	cuModuleGetFunction(&f, mod, "store");
	A(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	A(cuCtxSynchronize());
	A(cuCtxSetCurrent(a));
	A(cuMemAlloc(&q, 16));
	A(cuCtxSynchronize());
	A(cuCtxDestroy(b));
	A(cuMemAlloc(&q, 16));
}

const struct section code_sections[] = {
	{ "bad_images", bad_images },
	{ "jit_log", jit_log },
	{ "modules", modules },
	{ "libraries", libraries },
	{ "linking", linking },
	{ "functions", functions },
	{ "launches", launches },
	{ "launches_ex", launches_ex },
	{ "occupancy", occupancy },
	{ "fault_null", fault_null },
	{ "fault_misaligned", fault_misaligned },
	{ "fault_trap", fault_trap },
	{ "fault_host", fault_host },
	{ "fault_own_context", fault_own_context },
	{ NULL, NULL },
};
