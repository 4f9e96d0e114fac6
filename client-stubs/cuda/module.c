// SPDX-License-Identifier: Apache-2.0
/*
 * Loading of modules and libraries. The image goes to the worker by wh_upload_image(), options
 * that are numbers go with the call, and the logs come back with the answer. There is one load
 * at a time, since the worker keeps one upload.
 */
#include "stubs.h"

#include <stdlib.h>


/* The options in the form of the request; addresses stay here. */
struct jit {
	struct wh_jit_option option[WH_MAX_JIT_OPTIONS];
	uint32_t n;
	char *info, *error;
	uint32_t info_size, error_size;
	int info_at, error_at, wall_at, threads_at;	/* indices in the caller's arrays */
};

static CUresult take_option(struct jit *j, unsigned int i, CUjit_option key, void *value)
{
	switch (key) {
	case CU_JIT_INFO_LOG_BUFFER:
		j->info = value;
		return CUDA_SUCCESS;
	case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
		j->info_size = (uint32_t)(uintptr_t)value;
		j->info_at = i;
		return CUDA_SUCCESS;
	case CU_JIT_ERROR_LOG_BUFFER:
		j->error = value;
		return CUDA_SUCCESS;
	case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
		j->error_size = (uint32_t)(uintptr_t)value;
		j->error_at = i;
		return CUDA_SUCCESS;
	case CU_JIT_GLOBAL_SYMBOL_NAMES:
	case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
	case CU_JIT_REFERENCED_KERNEL_NAMES:
	case CU_JIT_REFERENCED_VARIABLE_NAMES:
		return wh_refuse("a JIT option with an array of addresses");
	case CU_JIT_WALL_TIME:
		j->wall_at = i;
		break;
	case CU_JIT_THREADS_PER_BLOCK:
		j->threads_at = i;
		break;
	default:
		break;
	}
	j->option[j->n++] = (struct wh_jit_option) { key, 0, (uintptr_t)value };
	return CUDA_SUCCESS;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static CUresult take_options(struct jit *j, unsigned int n, const CUjit_option *keys, void **values)
{
	CUresult res = CUDA_SUCCESS;
	unsigned int i;

	memset(j, 0, sizeof(*j));
	j->info_at = j->error_at = j->wall_at = j->threads_at = -1;
	if (n > WH_MAX_JIT_OPTIONS || (n && (!keys || !values)))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < n && res == CUDA_SUCCESS; i++)
		res = take_option(j, i, keys[i], values[i]);
	j->info_size = j->info ? least(j->info_size, WH_MAX_JIT_LOG) : 0;
	j->error_size = j->error ? least(j->error_size, WH_MAX_JIT_LOG) : 0;
	return res;
}

static void put_number(void **values, int at, uint32_t v)
{
	if (at >= 0)
		values[at] = (void *)(uintptr_t)v;
}

/* Stores logs and numbers where the options point, also after a failed load. */
static void return_options(struct wh_call *c, const struct jit *j, void **values)
{
	const struct wh_rsp_load *r = c->rsp;
	uint32_t wall;

	if (r->hdr.size < sizeof(*r))
		return;
	c->pos = WH_WIRE_FIXED(*r);
	if (j->info_size)
		wh_reply_take(c, j->info, j->info_size, 1);
	if (j->error_size)
		wh_reply_take(c, j->error, j->error_size, 1);
	memcpy(&wall, &r->wall_time, sizeof(wall));
	put_number(values, j->info_at, r->info_log);
	put_number(values, j->error_at, r->error_log);
	put_number(values, j->wall_at, wall);
	put_number(values, j->threads_at, r->threads_per_block);
}

struct load {
	uint32_t call;		/* WH_CALL_cuModuleLoadDataEx or WH_CALL_cuLibraryLoadData */
	uint32_t kind;
	struct wh_image_part *parts;
	uint32_t nparts;
	struct wh_jit_option *library;
	uint32_t nlibrary;
	struct jit jit;
	void **values;
	uint64_t handle;
};

static CUresult send_load(struct load *l)
{
	const struct wh_rsp_load *r;
	struct wh_req_load *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, l->call, WH_WIRE_FIXED(*q) +
		     wh_wire_bytes(l->nparts, sizeof(*l->parts)) +
		     wh_wire_bytes(l->jit.n, sizeof(*l->jit.option)) +
		     wh_wire_bytes(l->nlibrary, sizeof(*l->library)));
	if (!q)
		return c.result;
	c.pos = WH_WIRE_FIXED(*q);
	q->kind = l->kind;
	q->parts = l->nparts;
	q->options = l->jit.n;
	q->library_options = l->nlibrary;
	q->info_log = l->jit.info_size;
	q->error_log = l->jit.error_size;
	wh_request_put(&c, l->parts, l->nparts, sizeof(*l->parts));
	wh_request_put(&c, l->jit.option, l->jit.n, sizeof(*l->jit.option));
	wh_request_put(&c, l->library, l->nlibrary, sizeof(*l->library));
	res = wh_run(&c, sizeof(*r));
	r = c.rsp;
	if (r->hdr.size >= sizeof(*r))
		return_options(&c, &l->jit, l->values);
	l->handle = res == CUDA_SUCCESS ? r->handle : 0;
	wh_end(&c);
	return res;
}

static CUresult run_load(struct load *l, const void *image)
{
	CUresult res = wh_lock(WH_LOCK_LOAD);

	if (res != CUDA_SUCCESS)
		return res;
	res = wh_upload_image(image, &l->kind, &l->parts, &l->nparts);
	if (res == CUDA_SUCCESS)
		res = send_load(l);
	wh_unlock(WH_LOCK_LOAD);
	free(l->parts);
	return res;
}

/* --- Modules ------------------------------------------------------------------------ */

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
			    CUjit_option *options, void **optionValues)
{
	struct load l = { .call = WH_CALL_cuModuleLoadDataEx, .values = optionValues };
	CUresult res = wh_usable();

	if (res == CUDA_SUCCESS && !wh_thread.ctx)
		res = CUDA_ERROR_INVALID_CONTEXT;
	if (res == CUDA_SUCCESS && (!module || !image))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res == CUDA_SUCCESS)
		res = take_options(&l.jit, numOptions, options, optionValues);
	if (res == CUDA_SUCCESS)
		res = run_load(&l, image);
	if (res == CUDA_SUCCESS)
		*module = (CUmodule)l.handle;
	return res;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
	return cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
	CUresult res = wh_usable();
	size_t size;
	void *data;

	if (res == CUDA_SUCCESS)
		res = wh_read_file(fname, &data, &size);
	if (res != CUDA_SUCCESS)
		return res;
	res = cuModuleLoadData(module, data);
	free(data);
	return res;
}

/* --- Libraries ------------------------------------------------------------------------ */

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
			   void **jitOptionsValues, unsigned int numJitOptions,
			   CUlibraryOption *libraryOptions, void **libraryOptionValues,
			   unsigned int numLibraryOptions)
{
	struct wh_jit_option lib[WH_MAX_JIT_OPTIONS];
	struct load l = { .call = WH_CALL_cuLibraryLoadData, .values = jitOptionsValues,
			  .library = lib, .nlibrary = numLibraryOptions };
	CUresult res = wh_usable();
	unsigned int i;

	if (res == CUDA_SUCCESS &&
	    (!library || !code || numLibraryOptions > WH_MAX_JIT_OPTIONS ||
	     (numLibraryOptions && !libraryOptions)))
		res = CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < numLibraryOptions && res == CUDA_SUCCESS; i++) {
		if (libraryOptions[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE)
			res = wh_refuse("CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE");
		lib[i] = (struct wh_jit_option) { libraryOptions[i], 0,
			libraryOptionValues ? (uintptr_t)libraryOptionValues[i] : 0 };
	}
	if (res == CUDA_SUCCESS)
		res = take_options(&l.jit, numJitOptions, jitOptions, jitOptionsValues);
	if (res == CUDA_SUCCESS)
		res = run_load(&l, code);
	if (res == CUDA_SUCCESS)
		*library = (CUlibrary)l.handle;
	return res;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
			       void **jitOptionsValues, unsigned int numJitOptions,
			       CUlibraryOption *libraryOptions, void **libraryOptionValues,
			       unsigned int numLibraryOptions)
{
	CUresult res = wh_usable();
	size_t size;
	void *data;

	if (res == CUDA_SUCCESS)
		res = wh_read_file(fileName, &data, &size);
	if (res != CUDA_SUCCESS)
		return res;
	res = cuLibraryLoadData(library, data, jitOptions, jitOptionsValues, numJitOptions,
				libraryOptions, libraryOptionValues, numLibraryOptions);
	free(data);
	return res;
}
