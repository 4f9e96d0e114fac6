// SPDX-License-Identifier: Apache-2.0
/*
 * Attributes of functions and kernels: the questions about them, and their settings. A
 * CUfunction belongs to a module, a CUkernel to a library; the same code answers for both.
 */
#include <string.h>

#include "driver.h"

#define SETTABLE	(1u << CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES | \
			 1u << CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT | \
			 1u << CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH | \
			 1u << CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT | \
			 1u << CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH | \
			 1u << CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED | \
			 1u << CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)

void sgpu_tune_init(struct sgpu_tune *tune, const struct ptx_func *info)
{
	int *v = tune->value;

	memset(tune, 0, sizeof(*tune));
	if (info->static_shared < SGPU_SHARED_PLAIN)
		v[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] =
			SGPU_SHARED_PLAIN - info->static_shared;
	v[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
	v[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET] = info->explicit_cluster;
	v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = info->cluster[0];
	v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT] = info->cluster[1];
	v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH] = info->cluster[2];
}

CUresult sgpu_tune_get(const struct sgpu_tune *tune,
		       const struct ptx_func *info,
		       const struct sgpu_code_info *code,
		       CUfunction_attribute which, int *value)
{
	switch ((unsigned int)which) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = info->max_threads && info->max_threads <
			 SGPU_MAX_BLOCK_THREADS ? info->max_threads :
						  SGPU_MAX_BLOCK_THREADS;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*value = info->static_shared;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*value = code->const_bytes;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*value = info->local_bytes;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = info->nregs;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*value = code->ptx_target;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*value = (int)sgpu_target();
		return CUDA_SUCCESS;
	}
	if (which < 0 || which >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*value = tune->value[which];
	return CUDA_SUCCESS;
}

CUresult sgpu_tune_check(const struct ptx_func *info,
			 CUfunction_attribute which, int value)
{
	if ((unsigned int)which >= CU_FUNC_ATTRIBUTE_MAX ||
	    !(SETTABLE & 1u << which))
		return CUDA_ERROR_INVALID_VALUE;
	if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
	    (value < 0 || info->static_shared + (uint64_t)value >
	     SGPU_SHARED_OPTIN))
		return CUDA_ERROR_INVALID_VALUE;
	if (which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT &&
	    (value < -1 || value > 100))
		return CUDA_ERROR_INVALID_VALUE;
	/* A shape that the code itself requires stays. */
	if (which >= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH &&
	    which <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH &&
	    (value < 0 || info->cluster[0]))
		return CUDA_ERROR_INVALID_VALUE;
	if (which == CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE &&
	    (unsigned int)value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sgpu_param_info(const struct ptx_func *info, size_t index,
			 size_t *offset, size_t *size)
{
	if (index >= info->nparams)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = info->params[index].offset;
	if (size)
		*size = info->params[index].size;
	return CUDA_SUCCESS;
}

/* ---- CUfunction ---- */

static CUresult enter_func(CUfunction handle, bool args_ok,
			   struct sgpu_func **f)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	rc = args_ok ? sgpu_func_get(ctx, handle, f) :
		       CUDA_ERROR_INVALID_VALUE;
	return rc ? sgpu_leave(rc) : CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which,
			    CUfunction handle)
{
	struct sgpu_func *f;
	CUresult rc = enter_func(handle, value, &f);
	if (rc)
		return rc;
	return sgpu_leave(sgpu_tune_get(&f->tune, f->ptx, &f->mod->info, which,
					value));
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which,
			    int value)
{
	struct sgpu_func *f;
	CUresult rc = enter_func(handle, true, &f);

	if (rc)
		return rc;
	rc = sgpu_tune_check(f->ptx, which, value);
	if (!rc) {
		f->tune.value[which] = value;
		f->tune.own |= 1u << which;
	}
	return sgpu_leave(rc);
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	struct sgpu_func *f;
	CUresult rc = enter_func(handle, true, &f);

	if (rc)
		return rc;
	if ((unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	f->tune.cache = config;
	return sgpu_leave(CUDA_SUCCESS);
}

/* The width of shared memory banks is fixed. The setting is checked and has no effect. */
CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
	struct sgpu_func *f;
	CUresult rc = enter_func(handle, true, &f);

	if (rc)
		return rc;
	if ((unsigned int)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuFuncGetName(const char **name, CUfunction handle)
{
	struct sgpu_func *f;
	CUresult rc = enter_func(handle, name && handle, &f);
	if (rc)
		return rc;
	*name = f->ptx->name;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuFuncGetModule(CUmodule *mod, CUfunction handle)
{
	struct sgpu_func *f;
	CUresult rc = enter_func(handle, mod && handle, &f);
	if (rc)
		return rc;
	*mod = (CUmodule)f->mod;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset,
			    size_t *size)
{
	struct sgpu_func *f;
	CUresult rc = enter_func(handle, offset, &f);
	if (rc)
		return rc;
	return sgpu_leave(sgpu_param_info(f->ptx, index, offset, size));
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
	struct sgpu_func *f;
	CUresult rc = enter_func(handle, state, &f);
	if (rc)
		return rc;
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuFuncLoad(CUfunction handle)
{
	struct sgpu_func *f;
	CUresult rc = enter_func(handle, true, &f);

	return rc ? rc : sgpu_leave(CUDA_SUCCESS);
}

/* ---- CUkernel ---- */

static CUresult enter_kernel(CUkernel handle, bool args_ok,
			     struct sgpu_kernel **k)
{
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!args_ok)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*k = sgpu_obj_get(SGPU_KERNEL, handle);
	return *k ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute which,
			      CUkernel handle, CUdevice dev)
{
	struct sgpu_kernel *k;
	CUresult rc = enter_kernel(handle, value, &k);
	if (rc)
		return rc;
	if (!sgpu_device_ok(dev))
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	return sgpu_leave(sgpu_tune_get(&k->tune, &k->info, &k->code, which,
					value));
}

struct kernel_set {
	struct sgpu_kernel *kernel;
	CUfunction_attribute which;
	int value;
};

/* An attribute that was set on the function itself takes precedence over its kernel's. */
static void set_if_of(void *object, void *arg)
{
	struct sgpu_func *f = object;
	struct kernel_set *set = arg;

	if (f->kernel == set->kernel && !(f->tune.own & 1u << set->which))
		f->tune.value[set->which] = set->value;
}

CUresult cuKernelSetAttribute(CUfunction_attribute which, int value,
			      CUkernel handle, CUdevice dev)
{
	struct kernel_set set = { .which = which, .value = value };
	struct sgpu_kernel *k;
	CUresult rc = enter_kernel(handle, true, &k);

	if (rc)
		return rc;
	if (!sgpu_device_ok(dev))
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	rc = sgpu_tune_check(&k->info, which, value);
	if (!rc) {
		set.kernel = k;
		k->tune.value[which] = value;
		sgpu_obj_each(SGPU_FUNC, set_if_of, &set);
	}
	return sgpu_leave(rc);
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config,
				CUdevice dev)
{
	struct sgpu_kernel *k;
	CUresult rc = enter_kernel(handle, true, &k);

	if (rc)
		return rc;
	if (!sgpu_device_ok(dev))
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	if ((unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	k->tune.cache = config;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuKernelGetName(const char **name, CUkernel handle)
{
	struct sgpu_kernel *k;
	CUresult rc = enter_kernel(handle, name && handle, &k);
	if (rc)
		return rc;
	*name = k->name;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset,
			      size_t *size)
{
	struct sgpu_kernel *k;
	CUresult rc = enter_kernel(handle, offset, &k);
	if (rc)
		return rc;
	return sgpu_leave(sgpu_param_info(&k->info, index, offset, size));
}

CUresult cuKernelGetLibrary(CUlibrary *lib, CUkernel handle)
{
	struct sgpu_kernel *k;
	CUresult rc = enter_kernel(handle, lib, &k);
	if (rc)
		return rc;
	*lib = (CUlibrary)k->lib;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuKernelGetFunction(CUfunction *out, CUkernel handle)
{
	struct sgpu_func *f;
	struct sgpu_ctx *ctx;
	struct sgpu_kernel *k;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (!out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	k = sgpu_obj_get(SGPU_KERNEL, handle);
	rc = k ? sgpu_kernel_func(ctx, k, &f) : CUDA_ERROR_INVALID_HANDLE;
	if (!rc)
		*out = (CUfunction)f;
	return sgpu_leave(rc);
}
