// SPDX-License-Identifier: Apache-2.0
/*
 * Libraries: code that no context owns. A library keeps the text of its image and the
 * constant facts about its kernels. Each context that uses it gets a module of its own,
 * with its own variables. A first module is loaded to read the kernels; the first context
 * that uses the library adopts it. Managed variables belong to the library: all contexts
 * share them, and they keep their values in a reset (580.159 keeps them, too).
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* ---- instances ---- */

struct wanted {
	struct sgpu_library *lib;
	struct sgpu_ctx *ctx;
	struct sgpu_module *found;
};

static void match(void *object, void *arg)
{
	struct sgpu_module *mod = object;
	struct wanted *w = arg;

	if (mod->lib == w->lib && mod->ctx == w->ctx)
		w->found = mod;
}

static struct sgpu_module *instance(struct sgpu_library *lib,
				    struct sgpu_ctx *ctx)
{
	struct wanted w = { lib, ctx, NULL };

	sgpu_obj_each(SGPU_MODULE, match, &w);
	return w.found;
}

static void adopt(struct sgpu_module *mod, struct sgpu_ctx *ctx)
{
	mod->ctx = ctx;
	for (uint32_t i = 0; i < mod->ptx->nvars; i++)
		if (!mod->ptx->vars[i].managed)
			sgpu_mem_set_ctx((uintptr_t)mod->ptx->vars[i].addr, ctx);
}

/* ---- managed variables ---- */

void *sgpu_library_managed(const struct sgpu_library *lib, const char *name)
{
	for (unsigned int i = 0; i < lib->nmanaged; i++)
		if (!strcmp(lib->managed[i].name, name))
			return lib->managed[i].addr;
	return NULL;
}

bool sgpu_library_keeps(const struct sgpu_library *lib, const void *addr)
{
	for (unsigned int i = 0; i < lib->nmanaged; i++)
		if (lib->managed[i].addr == addr)
			return true;
	return false;
}

static bool keep_managed(struct sgpu_library *lib, const struct ptx_module *ptx)
{
	lib->managed = calloc(ptx->nvars + 1, sizeof(*lib->managed));
	if (!lib->managed)
		return false;
	for (uint32_t i = 0; i < ptx->nvars; i++) {
		const struct ptx_var *v = &ptx->vars[i];
		char *name = v->managed ? strdup(v->name) : NULL;

		if (!v->managed)
			continue;
		if (!name)
			return false;
		lib->managed[lib->nmanaged++] =
			(struct sgpu_shared_var){ name, v->addr, v->size };
	}
	return true;
}

static void free_managed(struct sgpu_library *lib)
{
	for (unsigned int i = 0; i < lib->nmanaged; i++) {
		sgpu_mem_release((uintptr_t)lib->managed[i].addr,
				 1u << SGPU_MEM_MODULE_MANAGED);
		free(lib->managed[i].name);
	}
	free(lib->managed);
}

/*
 * Loads the text once more. Loading would reset the managed variables, so their values are
 * saved.
 */
static CUresult load_again(struct sgpu_library *lib, struct sgpu_ctx *ctx,
			   struct sgpu_module **out)
{
	char log[SGPU_LOG_LEN], *saved, *p;
	uint64_t bytes = 1;
	CUresult rc;

	for (unsigned int i = 0; i < lib->nmanaged; i++)
		bytes += lib->managed[i].size;
	p = saved = malloc(bytes);
	if (!saved)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned int i = 0; i < lib->nmanaged; i++, p += lib->managed[i - 1].size)
		memcpy(p, lib->managed[i].addr, lib->managed[i].size);
	rc = sgpu_module_load(ctx, lib, &lib->image, out, log);
	p = saved;
	for (unsigned int i = 0; i < lib->nmanaged; i++, p += lib->managed[i - 1].size)
		memcpy(lib->managed[i].addr, p, lib->managed[i].size);
	free(saved);
	return rc;
}

/* Ties the functions of a module to the library's kernels, whose settings they take over. */
static void tie(struct sgpu_module *mod, struct sgpu_library *lib)
{
	mod->lib = lib;
	for (unsigned int i = 0; i < mod->nfuncs && i < lib->nkernels; i++) {
		mod->funcs[i]->kernel = lib->kernels[i];
		mod->funcs[i]->tune = lib->kernels[i]->tune;
	}
}

CUresult sgpu_library_module(struct sgpu_ctx *ctx, struct sgpu_library *lib,
			     struct sgpu_module **out)
{
	struct sgpu_module *mod = instance(lib, ctx);
	CUresult rc = CUDA_SUCCESS;

	if (!mod) {
		mod = instance(lib, NULL);
		if (mod)
			adopt(mod, ctx);
		else
			rc = load_again(lib, ctx, &mod);
		if (rc)
			return rc;
		tie(mod, lib);
	}
	*out = mod;
	return CUDA_SUCCESS;
}

CUresult sgpu_kernel_func(struct sgpu_ctx *ctx, struct sgpu_kernel *kernel,
			  struct sgpu_func **out)
{
	struct sgpu_func *f = kernel->last;
	struct sgpu_module *mod;
	CUresult rc;

	/* Consecutive launches nearly always use the same context. */
	if (f && f->obj.type == SGPU_FUNC && f->kernel == kernel &&
	    f->mod->ctx == ctx) {
		*out = f;
		return CUDA_SUCCESS;
	}
	rc = sgpu_library_module(ctx, kernel->lib, &mod);
	if (rc)
		return rc;
	for (unsigned int i = 0; i < mod->nfuncs; i++)
		if (mod->funcs[i]->kernel == kernel)
			*out = kernel->last = mod->funcs[i];
	return CUDA_SUCCESS;
}

CUresult sgpu_func_get(struct sgpu_ctx *ctx, const void *handle,
		       struct sgpu_func **out)
{
	struct sgpu_kernel *k;
	struct sgpu_func *f;

	f = sgpu_obj_get(SGPU_FUNC, handle);
	if (f) {
		*out = f;
		return f->mod->ctx == ctx ? CUDA_SUCCESS :
					    CUDA_ERROR_INVALID_HANDLE;
	}
	k = sgpu_obj_get(SGPU_KERNEL, handle);
	return k ? sgpu_kernel_func(ctx, k, out) : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- loading and unloading ---- */

static void drop_module(void *object, void *lib)
{
	struct sgpu_module *mod = object;

	if (mod->lib == lib)
		sgpu_module_free(mod);
}

static void library_free(struct sgpu_library *lib)
{
	sgpu_obj_each(SGPU_MODULE, drop_module, lib);
	free_managed(lib);
	for (unsigned int i = 0; i < lib->nkernels; i++) {
		free(lib->kernels[i]->name);
		free((void *)lib->kernels[i]->info.params);
		sgpu_obj_free(lib->kernels[i]);
	}
	free(lib->kernels);
	free(lib->image.text);
	sgpu_obj_free(lib);
}

static struct sgpu_kernel *kernel_new(struct sgpu_library *lib,
				      const struct sgpu_func *f)
{
	struct sgpu_kernel *k = sgpu_obj_new(SGPU_KERNEL);
	size_t bytes = f->ptx->nparams * sizeof(*f->ptx->params);
	struct ptx_param *params;

	if (!k)
		return NULL;
	k->name = strdup(f->ptx->name);
	params = malloc(bytes + 1);
	if (!k->name || !params) {
		free(k->name);
		free(params);
		sgpu_obj_free(k);
		return NULL;
	}
	if (bytes)
		memcpy(params, f->ptx->params, bytes);
	k->lib = lib;
	k->info = *f->ptx;
	k->info.name = k->name;
	k->info.params = params;
	k->info.module = NULL;
	k->info.code = NULL;
	k->code = f->mod->info;
	k->tune = f->tune;
	return k;
}

static bool make_kernels(struct sgpu_library *lib, struct sgpu_module *mod)
{
	lib->kernels = calloc(mod->nfuncs + 1, sizeof(*lib->kernels));
	if (!lib->kernels)
		return false;
	for (unsigned int i = 0; i < mod->nfuncs; i++) {
		lib->kernels[i] = kernel_new(lib, mod->funcs[i]);
		if (!lib->kernels[i])
			return false;
		lib->nkernels++;
	}
	return true;
}

static CUresult library_make(struct sgpu_images *images,
			     struct sgpu_library **out, char *log)
{
	struct sgpu_library *lib = sgpu_obj_new(SGPU_LIBRARY);
	struct sgpu_module *mod;
	unsigned int used;
	CUresult rc;

	if (!lib)
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = sgpu_module_load_best(NULL, images, &mod, &used, log);
	if (!rc) {
		mod->lib = lib;
		lib->image = images->image[used];
		images->image[used].text = NULL;	/* the library owns it now */
		if (!keep_managed(lib, mod->ptx) || !make_kernels(lib, mod))
			rc = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (rc)
		library_free(lib);
	else
		*out = lib;
	return rc;
}

struct library_args {
	const struct sgpu_jit jit;
	const CUlibraryOption *options;
	unsigned int noptions;
};

static CUresult options_check(const struct library_args *a)
{
	if (a->noptions && !a->options)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < a->noptions; i++)
		if ((unsigned int)a->options[i] >= CU_LIBRARY_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
	return sgpu_jit_check(&a->jit);
}

/* An image that is read from a file is a copy, so it cannot be preserved for the caller. */
static CUresult file_options_check(const struct library_args *a)
{
	for (unsigned int i = 0; i < a->noptions; i++)
		if (a->options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult library_load(CUlibrary *out, const void *data, size_t size,
			     const struct library_args *a)
{
	char log[SGPU_LOG_LEN] = "";
	struct sgpu_library *lib;
	struct sgpu_images images;
	CUresult rc;

	rc = sgpu_images_find(data, size, &images);
	if (rc)
		return rc;
	sgpu_print_flush();
	rc = size == SIZE_MAX ? CUDA_SUCCESS : file_options_check(a);
	if (!rc)
		rc = library_make(&images, &lib, log);
	sgpu_images_free(&images);
	sgpu_jit_report(&a->jit, rc ? log : "");
	if (!rc)
		*out = (CUlibrary)lib;
	return rc;
}

CUresult cuLibraryLoadData(CUlibrary *out, const void *data,
			   CUjit_option *jit, void **jit_values,
			   unsigned int njit, CUlibraryOption *options,
			   void **values, unsigned int noptions)
{
	struct library_args a = { { njit, jit, jit_values }, options, noptions };
	CUresult rc = sgpu_beside_global();

	(void)values;
	if (rc)
		return rc;
	rc = out && data ? options_check(&a) : CUDA_ERROR_INVALID_VALUE;
	return sgpu_leave(rc ? rc : library_load(out, data, SIZE_MAX, &a));
}

CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path,
			       CUjit_option *jit, void **jit_values,
			       unsigned int njit, CUlibraryOption *options,
			       void **values, unsigned int noptions)
{
	struct library_args a = { { njit, jit, jit_values }, options, noptions };
	CUresult rc = sgpu_beside_global();
	char *data = NULL;
	size_t size;

	(void)values;
	if (rc)
		return rc;
	rc = out && path ? options_check(&a) : CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		rc = sgpu_file_read(path, &data, &size);
	if (!rc)
		rc = library_load(out, data, size, &a);
	free(data);
	return sgpu_leave(rc);
}

static CUresult find(CUresult rc, CUlibrary handle, bool args_ok, struct sgpu_library **lib)
{
	if (rc)
		return rc;
	if (!args_ok)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*lib = sgpu_obj_get(SGPU_LIBRARY, handle);
	return *lib ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
}

static CUresult enter_library(CUlibrary handle, bool args_ok,
			      struct sgpu_library **lib)
{
	return find(sgpu_beside_global(), handle, args_ok, lib);
}

CUresult cuLibraryUnload(CUlibrary handle)
{
	struct sgpu_library *lib;
	CUresult rc = find(sgpu_enter_global(), handle, true, &lib);

	if (rc)
		return rc;
	sgpu_print_flush();
	library_free(lib);
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- kernels and variables ---- */

CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary handle, const char *name)
{
	struct sgpu_library *lib;
	CUresult rc = enter_library(handle, out && name, &lib);
	if (rc)
		return rc;
	for (unsigned int i = 0; i < lib->nkernels; i++) {
		if (strcmp(lib->kernels[i]->name, name))
			continue;
		*out = (CUkernel)lib->kernels[i];
		return sgpu_leave(CUDA_SUCCESS);
	}
	return sgpu_leave(CUDA_ERROR_NOT_FOUND);
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle)
{
	struct sgpu_library *lib;
	CUresult rc = enter_library(handle, count, &lib);
	if (rc)
		return rc;
	*count = lib->nkernels;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuLibraryEnumerateKernels(CUkernel *out, unsigned int n,
				   CUlibrary handle)
{
	struct sgpu_library *lib;
	CUresult rc = enter_library(handle, out, &lib);
	if (rc)
		return rc;
	for (unsigned int i = 0; i < n && i < lib->nkernels; i++)
		out[i] = (CUkernel)lib->kernels[i];
	return sgpu_leave(CUDA_SUCCESS);
}

/* Finds the module of a library in the current context. */
static CUresult enter_instance(CUlibrary handle, bool args_ok,
			       struct sgpu_module **mod)
{
	struct sgpu_library *lib;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (!args_ok)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	lib = sgpu_obj_get(SGPU_LIBRARY, handle);
	rc = lib ? sgpu_library_module(ctx, lib, mod) :
		   CUDA_ERROR_INVALID_HANDLE;
	return rc ? sgpu_leave(rc) : CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary handle)
{
	struct sgpu_module *mod;
	CUresult rc = enter_instance(handle, out, &mod);
	if (rc)
		return rc;
	*out = (CUmodule)mod;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *addr, size_t *size, CUlibrary handle,
			    const char *name)
{
	struct sgpu_module *mod;
	CUresult rc = enter_instance(handle, name && (addr || size), &mod);
	if (rc)
		return rc;
	return sgpu_leave(sgpu_module_global(mod, name, addr, size));
}

/* The host can use the variable as well. */
CUresult cuLibraryGetManaged(CUdeviceptr *addr, size_t *size, CUlibrary handle,
			     const char *name)
{
	const struct ptx_var *var;
	struct sgpu_module *mod;
	CUresult rc = enter_instance(handle, name && (addr || size), &mod);
	if (rc)
		return rc;
	var = ptx_find_var(mod->ptx, name);
	if (!var || !var->managed)
		return sgpu_leave(CUDA_ERROR_NOT_FOUND);
	return sgpu_leave(sgpu_module_global(mod, name, addr, size));
}
