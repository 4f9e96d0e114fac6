/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake libraries share this file, which writes one line for each call into the file
 * $FAKE_LOG.
 */
#ifndef WORMHOLE_TESTS_FAKE_LIBRARY_H
#define WORMHOLE_TESTS_FAKE_LIBRARY_H

#include <cuda.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((format(printf, 1, 2), unused))
static void note(const char *fmt, ...)
{
	const char *path = getenv("FAKE_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;
	va_list ap;

	if (!f)
		return;
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fputc('\n', f);
	fclose(f);
}

/*
 * Is a context current in the driver that this library finds? It looks for the driver by
 * its soname, and asks it for each function, as NVIDIA's libraries do.
 */
__attribute__((unused))
static int has_context(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
	CUresult (*current)(CUcontext *);
	CUcontext ctx = NULL;

	if (!driver)
		return 0;
	*(void **)&get = dlsym(driver, "cuGetProcAddress_v2");
	return get && get("cuCtxGetCurrent", (void **)&current, 13000, 0, NULL) == CUDA_SUCCESS &&
	       current(&ctx) == CUDA_SUCCESS && ctx;
}

/*
 * Waits until the word is not 0, for 0.25 s of CPU time; then sets it to `late`. A client
 * that waits for the very call cannot write there.
 */
#define await_client(word, late) do {					\
	volatile __typeof__(*(word)) *w = (word);			\
	clock_t end = clock() + CLOCKS_PER_SEC / 4;			\
									\
	while (*w == 0 && clock() < end)				\
		;							\
	if (*w == 0)							\
		*w = (late);						\
} while (0)

#endif
