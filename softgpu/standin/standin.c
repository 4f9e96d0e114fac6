// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the binding of a stand-in library to a driver, and its loaded image. Names are
 * looked up in one driver's handle and never in the whole process: in a loopback process
 * the client's library also has the name libcuda.so.1, and its calls would lead back into
 * the worker.
 */
#define _GNU_SOURCE
#include "standin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct standin_driver standin_drv;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *driver;
static bool started;
static CUlibrary library;

void wormhole_standin_driver(void *handle)
{
	pthread_mutex_lock(&lock);
	driver = handle;
	pthread_mutex_unlock(&lock);
}

static void *beside_us(void)
{
	char path[4096];
	Dl_info us;
	char *slash;

	if (!dladdr(standin_image, &us) || !us.dli_fname ||
	    snprintf(path, sizeof(path), "%s", us.dli_fname) >= (int)sizeof(path))
		return NULL;
	slash = strrchr(path, '/');
	if (!slash || slash + sizeof("/libcuda.so.1") > path + sizeof(path))
		return NULL;
	strcpy(slash, "/libcuda.so.1");
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_driver(void)
{
	const char *path = getenv("WORMHOLE_SOFTGPU_DRIVER");
	void *found;

	if (path && *path)
		return dlopen(path, RTLD_NOW | RTLD_LOCAL);
	found = beside_us();
	return found ? found : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

static bool bind_driver(void)
{
	if (!driver)
		driver = open_driver();
	if (!driver) {
		fprintf(stderr, "error: stand-in library: no driver: %s\n", dlerror());
		return false;
	}
#define STANDIN_BIND(name, args) \
	standin_drv.name = dlsym(driver, #name); \
	if (!standin_drv.name) { \
		fprintf(stderr, "error: stand-in library: the driver has no " #name "\n"); \
		return false; \
	}
	STANDIN_CALLS(STANDIN_BIND)
#undef STANDIN_BIND
	return true;
}

static bool have_context(void)
{
	CUcontext ctx = NULL;

	if (standin_drv.cuCtxGetCurrent(&ctx))
		return false;
	if (ctx)
		return true;
	return !standin_drv.cuDevicePrimaryCtxRetain(&ctx, 0) && !standin_drv.cuCtxSetCurrent(ctx);
}

static bool load_image(void)
{
	CUresult rc = standin_drv.cuLibraryLoadData(&library, standin_image, NULL, NULL, 0, NULL,
						    NULL, 0);

	if (rc)
		fprintf(stderr, "error: stand-in library: its kernels do not load: %d\n", rc);
	return !rc;
}

bool standin_start(void)
{
	bool good;

	pthread_mutex_lock(&lock);
	if (!started)
		started = bind_driver() && !standin_drv.cuInit(0) && have_context() && load_image();
	good = started && have_context();
	pthread_mutex_unlock(&lock);
	return good;
}

CUresult standin_launch(struct standin_kernel *k, const unsigned int grid[3],
			unsigned int threads, CUstream stream, void **args)
{
	CUkernel kernel = __atomic_load_n(&k->kernel, __ATOMIC_ACQUIRE);
	CUresult rc;

	if (!kernel) {
		rc = standin_drv.cuLibraryGetKernel(&kernel, library, k->name);
		if (rc)
			return rc;
		__atomic_store_n(&k->kernel, kernel, __ATOMIC_RELEASE);
	}
	return standin_drv.cuLaunchKernel((CUfunction)kernel, grid[0], grid[1], grid[2], threads, 1,
					  1, 0, stream, args, NULL);
}

void standin_refuse(const char *name)
{
	static unsigned int lines;

	/* A client can call this in a loop, so the number of lines is limited. */
	if (__atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED) < 32)
		fprintf(stderr, "warn: stand-in library: %s is not supported\n", name);
}
