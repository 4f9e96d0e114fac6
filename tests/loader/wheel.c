// SPDX-License-Identifier: Apache-2.0
/*
 * Small versions of the libraries that Python packages bring: NVIDIA's, which nobody may
 * load here, a library that needs them, and one that opens them as it is loaded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef GENUINE
int cudaRuntimeGetVersion(int *version)
{
	*version = 1;
	return 0;
}

__attribute__((constructor))
static void loaded(void)
{
	fputs("genuine " GENUINE " is loaded\n", stderr);
}
#endif

#ifdef NEEDS
int cudaRuntimeGetVersion(int *version);

/* NVIDIA's library in this test says version 1. */
int runtime_is_new(void)
{
	int version = 0;

	cudaRuntimeGetVersion(&version);
	return version >= 13000;
}
#endif

#ifdef OPENS
/* Opens NVIDIA's libraries relative to its own place, as packages do. */
__attribute__((constructor))
static void open_beside(void)
{
	char path[4096];
	Dl_info me;

	if (!dladdr((void *)open_beside, &me))
		return;
	snprintf(path, sizeof(path), "%.*s/" OPENS, (int)(strrchr(me.dli_fname, '/') - me.dli_fname),
		 me.dli_fname);
	if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL))
		fprintf(stderr, "%s\n", dlerror());
}

/* The library's own DT_RPATH counts for this search, whoever calls the function. */
int opens_name(void)
{
	return dlopen("libcublas.so", RTLD_NOW) != NULL;
}
#endif
