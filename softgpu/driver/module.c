// SPDX-License-Identifier: Apache-2.0
/*
 * Modules: one loaded PTX image in one context, its functions and variables.
 * Libraries (library.c) load through the same functions. A module owns its
 * ptx_module and one sgpu_func for each kernel; handles of functions are the
 * same on every request and die with the module.
 */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

/* ---- loading ---- */

/* Allocates a variable. Constants are writable, since on a real GPU a store can reach them, too. */
static void *var_alloc(void *module, const struct ptx_var *var)
{
	enum sgpu_kind kind = var->managed ? SGPU_MEM_MODULE_MANAGED : SGPU_MEM_MODULE;
	struct sgpu_module *mod = module;
	uint64_t addr = 0;

	if (var->managed && mod->lib)
		return sgpu_library_managed(mod->lib, var->name);
	if (var->align > SGPU_GRANULE ||
	    sgpu_mem_alloc(mod->ctx, var->size ? var->size : 1, kind, NULL, &addr))
		return NULL;
	return (void *)(uintptr_t)addr;
}

static void var_free(void *module, void *addr)
{
	struct sgpu_module *mod = module;

	if (mod->lib && sgpu_library_keeps(mod->lib, addr))
		return;
	sgpu_mem_release((uintptr_t)addr,
			 1u << SGPU_MEM_MODULE | 1u << SGPU_MEM_MODULE_MANAGED);
}

static CUresult load_error(enum ptx_status status)
{
	switch (status) {
	case PTX_OK:
		return CUDA_SUCCESS;
	case PTX_ERR_NOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case PTX_ERR_UNRESOLVED:
		return CUDA_ERROR_INVALID_SOURCE;	/* a linker returns this error */
	case PTX_ERR_SYNTAX:
	case PTX_ERR_UNSUPPORTED:
		break;
	}
	return CUDA_ERROR_INVALID_PTX;
}

static bool make_funcs(struct sgpu_module *mod)
{
	const struct ptx_module *ptx = mod->ptx;

	mod->info.ptx_target = ptx->target;
	for (uint32_t i = 0; i < ptx->nvars; i++)
		if (ptx->vars[i].space == PTX_SPACE_CONST)
			mod->info.const_bytes += ptx->vars[i].size;
	mod->funcs = calloc(ptx->nfuncs + 1, sizeof(*mod->funcs));
	if (!mod->funcs)
		return false;
	for (uint32_t i = 0; i < ptx->nfuncs; i++) {
		struct sgpu_func *f;

		if (!ptx->funcs[i].entry)
			continue;
		f = sgpu_obj_new(SGPU_FUNC);
		if (!f)
			return false;
		f->mod = mod;
		f->ptx = &ptx->funcs[i];
		sgpu_tune_init(&f->tune, f->ptx);
		mod->funcs[mod->nfuncs++] = f;
	}
	return true;
}

CUresult sgpu_module_load(struct sgpu_ctx *ctx, struct sgpu_library *lib,
			  const struct sgpu_image *image,
			  struct sgpu_module **out, char *log)
{
	struct sgpu_module *mod = sgpu_obj_new(SGPU_MODULE);
	struct ptx_alloc alloc = { mod, var_alloc, var_free };
	CUresult rc;

	log[0] = '\0';
	if (!mod)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mod->ctx = ctx;
	mod->lib = lib;
	if (image->version > SGPU_PTX_VERSION) {
		snprintf(log, SGPU_LOG_LEN, "PTX version %u.%u is newer than %u.%u",
			 image->version / 10, image->version % 10,
			 SGPU_PTX_VERSION / 10, SGPU_PTX_VERSION % 10);
		sgpu_module_free(mod);
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	}
	rc = load_error(ptx_load(image->text, image->len, &alloc, &mod->ptx,
				 log, SGPU_LOG_LEN));
	if (!rc && mod->ptx->target > sgpu_target()) {
		snprintf(log, SGPU_LOG_LEN,
			 "the target sm_%u is newer than this device's sm_%u (WORMHOLE_SOFTGPU_CAPABILITY)",
			 mod->ptx->target, sgpu_target());
		rc = CUDA_ERROR_INVALID_PTX;
	}
	if (!rc && !make_funcs(mod))
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	if (rc) {
		sgpu_log("module refused: %s", log);
		sgpu_module_free(mod);
		return rc;
	}
	*out = mod;
	return CUDA_SUCCESS;
}

CUresult sgpu_module_load_best(struct sgpu_ctx *ctx,
			       const struct sgpu_images *images,
			       struct sgpu_module **out, unsigned int *used,
			       char *log)
{
	char later[SGPU_LOG_LEN];
	CUresult rc, first;

	first = rc = sgpu_module_load(ctx, NULL, &images->image[0], out, log);
	*used = 0;
	/* Each text is the same program, so an older text may be simple enough to load. */
	for (unsigned int i = 1; rc && i < images->n; i++) {
		rc = sgpu_module_load(ctx, NULL, &images->image[i], out, later);
		*used = i;
	}
	if (first == CUDA_ERROR_INVALID_SOURCE)
		first = CUDA_ERROR_INVALID_PTX;		/* a load returns this error instead */
	return rc ? first : CUDA_SUCCESS;
}

void sgpu_module_free(struct sgpu_module *mod)
{
	for (unsigned int i = 0; i < mod->nfuncs; i++)
		sgpu_obj_free(mod->funcs[i]);
	free(mod->funcs);
	sgpu_texref_drop_module(mod);
	if (mod->ptx)
		ptx_unload(mod->ptx);
	sgpu_obj_free(mod);
}

static void drop_if_of(void *object, void *ctx)
{
	struct sgpu_module *mod = object;

	if (mod->ctx == ctx)
		sgpu_module_free(mod);
}

void sgpu_module_drop_ctx(struct sgpu_ctx *ctx)
{
	sgpu_obj_each(SGPU_MODULE, drop_if_of, ctx);
}

/* ---- options of a load ---- */

CUresult sgpu_jit_check(const struct sgpu_jit *jit)
{
	if (jit->n && (!jit->options || !jit->values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < jit->n; i++)
		if ((unsigned int)jit->options[i] >= CU_JIT_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static int jit_find(const struct sgpu_jit *jit, CUjit_option option)
{
	for (unsigned int i = 0; i < jit->n; i++)
		if (jit->options[i] == option)
			return i;
	return -1;
}

/* Fills one log buffer and replaces its size by the number of bytes written. */
static void jit_log(const struct sgpu_jit *jit, CUjit_option buffer,
		    CUjit_option size, const char *log)
{
	int b = jit_find(jit, buffer), s = jit_find(jit, size);
	size_t room, len = strlen(log);
	char *out;

	if (s < 0)
		return;
	room = (unsigned int)(uintptr_t)jit->values[s];
	out = b < 0 ? NULL : jit->values[b];
	if (len >= room)
		len = room ? room - 1 : 0;
	if (out && room) {
		memcpy(out, log, len);
		out[len] = '\0';
	}
	jit->values[s] = (void *)(uintptr_t)(len ? len + 1 : 0);
}

void sgpu_jit_report(const struct sgpu_jit *jit, const char *log)
{
	jit_log(jit, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
		log);
	jit_log(jit, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
		"");
}

/* ---- exported: load and unload ---- */

static CUresult load(struct sgpu_ctx *ctx, CUmodule *out, const void *data,
		     size_t size, const struct sgpu_jit *jit)
{
	struct sgpu_images images;
	char log[SGPU_LOG_LEN] = "";
	struct sgpu_module *mod;
	unsigned int used;
	CUresult rc;

	if (!out || !data)
		return CUDA_ERROR_INVALID_VALUE;
	rc = sgpu_jit_check(jit);
	if (!rc)
		rc = sgpu_images_find(data, size, &images);
	if (rc)
		return rc;
	sgpu_print_flush();
	rc = sgpu_module_load_best(ctx, &images, &mod, &used, log);
	sgpu_images_free(&images);
	sgpu_jit_report(jit, rc ? log : "");
	if (!rc)
		*out = (CUmodule)mod;
	return rc;
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *data, unsigned int n,
			    CUjit_option *options, void **values)
{
	struct sgpu_jit jit = { n, options, values };
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	return rc ? rc : sgpu_leave(load(ctx, out, data, SIZE_MAX, &jit));
}

CUresult cuModuleLoadData(CUmodule *out, const void *data)
{
	return cuModuleLoadDataEx(out, data, 0, NULL, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *out, const void *data)
{
	return cuModuleLoadDataEx(out, data, 0, NULL, NULL);
}

static CUresult load_file(struct sgpu_ctx *ctx, CUmodule *out, const char *path)
{
	struct sgpu_jit none = { 0 };
	size_t size;
	char *data;
	CUresult rc;

	if (!out || !path)
		return CUDA_ERROR_INVALID_VALUE;
	rc = sgpu_file_read(path, &data, &size);
	if (!rc)
		rc = load(ctx, out, data, size, &none);
	free(data);
	return rc;
}

CUresult cuModuleLoad(CUmodule *out, const char *path)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	return rc ? rc : sgpu_leave(load_file(ctx, out, path));
}

static CUresult find(CUresult rc, CUmodule handle, bool args_ok, struct sgpu_module **mod)
{
	*mod = NULL;
	if (rc)
		return rc;
	if (!args_ok)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*mod = sgpu_obj_get(SGPU_MODULE, handle);
	if (!*mod || !(*mod)->ctx)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	return CUDA_SUCCESS;
}

/* Finds a module of the current context by its handle. */
static CUresult enter_module(CUmodule handle, bool args_ok,
			     struct sgpu_module **mod)
{
	struct sgpu_ctx *ctx;

	return find(sgpu_beside(&ctx), handle, args_ok, mod);
}

CUresult cuModuleUnload(CUmodule handle)
{
	struct sgpu_module *mod;
	struct sgpu_ctx *ctx;
	CUresult rc = find(sgpu_enter(&ctx), handle, true, &mod);

	if (rc)
		return rc;
	if (mod->lib)		/* cuLibraryUnload() frees a library's module */
		return sgpu_leave(CUDA_ERROR_NOT_PERMITTED);
	sgpu_print_flush();
	sgpu_module_free(mod);
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- exported: functions and variables ---- */

struct sgpu_func *sgpu_module_func(struct sgpu_module *mod, const char *name)
{
	const struct ptx_func *ptx = ptx_find_entry(mod->ptx, name);

	for (unsigned int i = 0; ptx && i < mod->nfuncs; i++)
		if (mod->funcs[i]->ptx == ptx)
			return mod->funcs[i];
	return NULL;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
	struct sgpu_module *mod;
	struct sgpu_func *f;
	CUresult rc = enter_module(handle, out && name && *name, &mod);
	if (rc)
		return rc;
	f = sgpu_module_func(mod, name);
	if (!f)
		return sgpu_leave(CUDA_ERROR_NOT_FOUND);
	*out = (CUfunction)f;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule handle)
{
	struct sgpu_module *mod;
	CUresult rc = enter_module(handle, count, &mod);
	if (rc)
		return rc;
	*count = mod->nfuncs;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned int n,
				    CUmodule handle)
{
	struct sgpu_module *mod;
	CUresult rc = enter_module(handle, out, &mod);
	if (rc)
		return rc;
	for (unsigned int i = 0; i < n && i < mod->nfuncs; i++)
		out[i] = (CUfunction)mod->funcs[i];
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult sgpu_module_global(struct sgpu_module *mod, const char *name,
			    CUdeviceptr *addr, size_t *size)
{
	const struct ptx_var *var = ptx_find_var(mod->ptx, name);

	/* nvcc gives most variables no linkage, but their names are found nevertheless. */
	if (!var)
		return CUDA_ERROR_NOT_FOUND;
	if (var->texref || var->surfref)
		return CUDA_ERROR_INVALID_VALUE;	/* as NVIDIA's driver of an H200 */
	if (addr)
		*addr = (uintptr_t)var->addr;
	if (size)
		*size = var->size;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *addr, size_t *size, CUmodule handle,
			      const char *name)
{
	struct sgpu_module *mod;
	CUresult rc = enter_module(handle, name && (addr || size), &mod);
	if (rc)
		return rc;
	return sgpu_leave(sgpu_module_global(mod, name, addr, size));
}

/* Images are read when they are loaded, whatever CUDA_MODULE_LOADING says. */
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!mode)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*mode = CU_MODULE_EAGER_LOADING;
	return sgpu_leave(CUDA_SUCCESS);
}
