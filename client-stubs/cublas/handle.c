// SPDX-License-Identifier: Apache-2.0
/*
 * The client's side of a cuBLAS handle. Owns the handle's settings (stream, pointer mode, math
 * mode, workspace). To set one makes no call; all of them are sent with the next call.
 */
#include "cublas_stub.h"
#include "../blas.h"

#define ALIGNMENT	256	/* of a workspace, as cuBLAS demands */

struct cublasContext {
	struct wh_blas_handle b;
	cudaStream_t stream;	/* as the program names it */
	struct wh_obj_cublasHandle_t o;
};

static struct wh_handles handles = WH_HANDLES(struct cublasContext);
WH_IN_CHILD(pthread_mutex_init(&handles.lock, NULL))

static inline bool alive(const struct cublasContext *h)
{
	return h && h->b.h.alive == WH_CUBLAS_ALIVE;
}

bool wh_pack_cublasHandle_t(cublasHandle_t h, struct wh_obj_cublasHandle_t *out)
{
	if (!alive(h))
		return false;
	*out = h->o;
	/* The per-thread default stream differs from thread to thread. */
	if (h->stream)
		out->stream = wh_library_stream(h->stream);
	return true;
}

/* --- Life ------------------------------------------------------------------------- */

static cublasStatus_t create(struct wh_obj_cublasHandle_t *o)
{
	const struct wh_rsp_cublasCreate_v2 *r;
	struct wh_call c;
	cublasStatus_t res;

	if (!wh_cublas_begin(&c, WH_CALL_cublasCreate_v2, sizeof(struct wh_req_cublasCreate_v2)))
		return wh_cublas_lost(c.result);
	res = wh_cublas_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUBLAS_STATUS_SUCCESS)
		*o = r->handle;
	wh_end(&c);
	return res;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	struct cublasContext *h;
	cublasStatus_t res;

	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	h = wh_handle_take(&handles);
	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	res = create(&h->o);
	if (res != CUBLAS_STATUS_SUCCESS) {
		wh_handle_put(&handles, &h->b.h);
		return res;
	}
	h->b.id = h->o.id;
	h->b.h.alive = WH_CUBLAS_ALIVE;
	*handle = h;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	struct wh_req_cublasDestroy_v2 *q;
	cublasStatus_t res;
	struct wh_call c;

	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	q = wh_cublas_begin(&c, WH_CALL_cublasDestroy_v2, sizeof(*q));
	if (!q)
		return wh_cublas_lost_end(c.result);
	q->handle = handle->o.id;
	res = wh_cublas_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CUBLAS_STATUS_SUCCESS)
		wh_handle_put(&handles, &handle->b.h);
	return res;
}

/* --- State ------------------------------------------------------------------------ */

/* It also makes the library use its own workspace again, as documented. */
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	handle->stream = streamId;
	handle->o.stream = 0;
	handle->o.own_workspace = 0;
	handle->o.workspace = 0;
	handle->o.workspace_size = 0;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *streamId)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!streamId)
		return CUBLAS_STATUS_INVALID_VALUE;
	*streamId = handle->stream;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace,
				     size_t workspaceSizeInBytes)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if ((uintptr_t)workspace % ALIGNMENT)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->o.own_workspace = 1;
	handle->o.workspace = (uintptr_t)workspace;
	handle->o.workspace_size = workspaceSizeInBytes;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->o.pointer_mode = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!mode)
		return CUBLAS_STATUS_INVALID_VALUE;
	*mode = (cublasPointerMode_t)handle->o.pointer_mode;
	return CUBLAS_STATUS_SUCCESS;
}

static bool known_math(unsigned int mode)
{
	switch (mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) {
	case CUBLAS_DEFAULT_MATH:
	case CUBLAS_TENSOR_OP_MATH:
	case CUBLAS_PEDANTIC_MATH:
	case CUBLAS_TF32_TENSOR_OP_MATH:
	case CUBLAS_FP32_EMULATED_BF16X9_MATH:
	case CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH:
		return true;
	default:
		return false;
	}
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!known_math(mode))
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->o.math_mode = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!mode)
		return CUBLAS_STATUS_INVALID_VALUE;
	*mode = (cublasMath_t)handle->o.math_mode;
	return CUBLAS_STATUS_SUCCESS;
}
