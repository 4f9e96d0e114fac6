// SPDX-License-Identifier: Apache-2.0
/*
 * Loads the library that does the work: NVIDIA's libcuda.so.1 or softgpu's, chosen by path. Owns
 * the table of its functions. A function that the library lacks stays NULL, and the call answers
 * CUDA_ERROR_NOT_SUPPORTED. The library is not loaded with RTLD_DEEPBIND: it has to find the
 * functions of the C library that a worker (interpose.c) or a session in the client's process
 * (foreign.c) replaces.
 */
#define _GNU_SOURCE
#include "session/output.h"
#include "session/handler.h"

#include <dlfcn.h>
#include <stdio.h>

bool wh_backend_load(struct wh_session *s, const char *path, char *err, size_t err_size)
{
	const struct wh_driver_symbol *sym;

	s->backend = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!s->backend) {
		snprintf(err, err_size, "%s", dlerror());
		return false;
	}
	for (sym = wh_driver_symbols; sym->name; sym++)
		*(void **)((char *)&s->drv + sym->offset) = dlsym(s->backend, sym->name);
	if (s->drv.cuInit && s->drv.cuDriverGetVersion && s->drv.cuCtxSetCurrent)
		return true;
	snprintf(err, err_size, "%s has no cuInit: not a CUDA driver library", path);
	dlclose(s->backend);
	s->backend = NULL;
	return false;
}
