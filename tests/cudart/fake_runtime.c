// SPDX-License-Identifier: Apache-2.0
// A helper of preload_test.sh: programs that look as if they held a static runtime. VERSION has
// the names of one version's runtime; SHORT makes its functions too short to redirect, MISSING
// and BEFORE_... leave some out, EXTRA adds one that no version has, and OWN gives the program such
// a function outside of the runtime. With SERVED they ask it for its version, and for a driver
// function that has two forms; with VERSION_ALONE for the first. OLD has a few names of all
// versions, and WRAPPER only one. With an argument the programs ask the driver for a private
// table, as runtimes do.
#include <dlfcn.h>
#include <stdio.h>

#include "gen_cudart_versions.h"

__attribute__((section(".nv_fatbin"), used))
static const char device_code[64] = "code";

__attribute__((noinline))
static void ask(void)
{
	static const char id[16];
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*get)(const void **, const char *);
	const void *table = NULL;

	*(void **)&get = driver ? dlsym(driver, "cuGetExportTable") : NULL;
	printf("asked %d\n", get ? get(&table, id) : -1);
}

#define FUNC(name)							\
	__attribute__((noinline, used)) int name(void)			\
	{								\
		__asm__ volatile(".skip 32, 0x90");			\
		return 1;						\
	}

#ifdef OWN
FUNC(cudaThreadSynchronize)
FUNC(cudaCheckOwn)
#endif

#ifdef VERSION
#ifdef SHORT
#define ROOM "0"
#else
#define ROOM "32"
#endif
#define LEAVE_OUT_ONE(name) ".set leave_out_" name ", 1\n"
#if defined(MISSING)
#define LEAVE_OUT LEAVE_OUT_ONE("cudaLogsCurrent")
#elif defined(BEFORE_11)
#define LEAVE_OUT LEAVE_OUT_ONE("cudaStreamSetAttribute")
#elif defined(BEFORE_11_6)
#define LEAVE_OUT LEAVE_OUT_ONE("cudaGraphNodeSetEnabled") LEAVE_OUT_ONE("cudaGraphNodeGetEnabled") \
	LEAVE_OUT_ONE("cudaArrayGetMemoryRequirements") LEAVE_OUT_ONE("cudaMipmappedArrayGetMemoryRequirements")
#else
#define LEAVE_OUT ""
#endif
#define TEXT(x) #x
#define VALUE(x) TEXT(x)
#define BODY(name)							\
	".globl " name "\n.type " name ", @function\n"			\
	name ": mov $77, %eax\nret\n.if " ROOM "\n.skip " ROOM ", 0x90\n.endif\n"
#define DEFINE(name, first, last)					\
	".if " #first " <= " VALUE(VERSION) " && " #last " >= " VALUE(VERSION) "\n"	\
	".ifndef leave_out_" #name "\n" BODY(#name) ".endif\n.endif\n"
// As in NVIDIA's runtimes, functions that all versions have are first and last.
#define COMMON(name, first, last, of_13, of_12, of_11)			\
	".if " #first " == 0 && " #last " == " VALUE(RT_VERSION_NEWEST) "\n"	\
	".ifnc " #name ",cudaGetDeviceCount\n" DEFINE(name, first, last) ".endif\n.endif\n"
#define SPECIAL(name, first, last, of_13, of_12, of_11)			\
	".if " #first " != 0 || " #last " != " VALUE(RT_VERSION_NEWEST) "\n"	\
	DEFINE(name, first, last) ".endif\n"
__asm__(".text\n.balign 16\n" LEAVE_OUT RT_NAMES(COMMON) RT_NAMES(SPECIAL)
#ifdef EXTRA
	BODY("cudaBrandNew")
#endif
	BODY("cudaGetDeviceCount") ".skip 32\n.balign 16\n");
int cudaMalloc(void);
int cudaGetDeviceCount(int *count);
int cudaRuntimeGetVersion(int *version);
int cudaGetDriverEntryPoint(const char *symbol, void **func, unsigned long long flags, int *status);
int cudaGreenCtxCreate(void);
int cudaBrandNew(void);
#else
FUNC(cudaMalloc)
#ifdef OLD
FUNC(__cudaRegisterFatBinary)
FUNC(cudaGetDeviceCount)
#endif
#endif

#ifdef SERVED
/* Which form of cuMemAdvise() does the runtime give? The second came with 12.2. */
static int form_of_advise(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *func = NULL;
	int status = -1;

	if (!driver || cudaGetDriverEntryPoint("cuMemAdvise", &func, 0, &status) || !func)
		return 0;
	return func == dlsym(driver, "cuMemAdvise") ? 1 : func == dlsym(driver, "cuMemAdvise_v2") ? 2 : 0;
}
#endif

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		ask();
#if defined(LATER)
	printf("later %d\n", cudaGreenCtxCreate());
#elif defined(OWN)
	int n = 0, err = cudaGetDeviceCount(&n);

	printf("own %d %d served %d %d\n", cudaThreadSynchronize(), cudaCheckOwn(), err, n);
#elif defined(VERSION_ALONE)
	int version = 0, err = cudaRuntimeGetVersion(&version);

	printf("served %d version %d\n", err, version);
#elif defined(SERVED)
	int n = 0, version = 0, err = cudaGetDeviceCount(&n);

	err |= cudaRuntimeGetVersion(&version);
	printf("served %d %d version %d advise %d\n", err, n, version, form_of_advise());
#elif defined(EXTRA) && VERSION == RT_VERSION_NEWEST
	int n = 0, first = cudaBrandNew(), again = cudaBrandNew(), err = cudaGetDeviceCount(&n);

	printf("new %d %d served %d %d\n", first, again, err, n);
#else
	printf("own %d\n", cudaMalloc());
#endif
	return 0;
}
