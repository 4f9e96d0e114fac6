// SPDX-License-Identifier: Apache-2.0
/*
 * Asks the driver for a private table: as a library with a CUDA runtime and code for the
 * device (DEVICE_CODE), as a compiler without these, or as a program (PROGRAM) with both.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#ifdef DEVICE_CODE
__attribute__((section(".nv_fatbin"), used))
static const char device_code[64] = "code";
#endif

__attribute__((noinline))
static int ask(void)
{
	static const char id[16] = "no such table";
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	const void *table = id;
	int (*get)(const void **table, const char *id);

	*(void **)&get = driver ? dlsym(driver, "cuGetExportTable") : NULL;
	/*
	 * The result is used after the call, so that the compiler does not make it a jump, which
	 * has no caller.
	 */
	return get ? get(&table, id) + !!table : -1;
}

#ifdef PROGRAM
int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", argc > 1 ? ask() : 0);
	return 0;
}
#else
int nppUnused(void)
{
	return 5;
}

int nppStart(void)
{
	return ask() + 1;
}
#endif
