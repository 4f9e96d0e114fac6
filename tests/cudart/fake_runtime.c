// SPDX-License-Identifier: Apache-2.0
// A helper of preload_test.sh: programs that look as if they held a static runtime. The runtime
// is of another version (OLD), of a later minor one (LATER), has functions too short to redirect
// (SHORT), or is only a function of the same name (WRAPPER). With an argument the programs ask
// the driver for a private table, as runtimes do.
#include <dlfcn.h>
#include <stdio.h>

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

#ifdef SHORT
__asm__(".text\n"
	".globl cudaMalloc\n.type cudaMalloc, @function\ncudaMalloc: mov $1, %eax\nret\n"
	".globl cudaGetDeviceCount\n.type cudaGetDeviceCount, @function\n"
	"cudaGetDeviceCount: mov $1, %eax\nret\n.balign 16\n");
int cudaMalloc(void);
#else
FUNC(cudaMalloc)
#endif

#ifndef WRAPPER
FUNC(__cudaRegisterFatBinary)
#ifndef SHORT
FUNC(cudaGetDeviceCount)
#endif
#endif
#if defined(SHORT) || defined(LATER)
FUNC(__cudaGetKernel)
#endif
#ifdef LATER
FUNC(cudaGreenCtxCreate)
#endif

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		ask();
#ifdef LATER
	printf("later %d\n", cudaGreenCtxCreate());
#else
	printf("own %d\n", cudaMalloc());
#endif
	return 0;
}
