// SPDX-License-Identifier: Apache-2.0
/* Handles of cublasXt, and the copies of matrices to and from the device (xt.h). */
#include "xt.h"
#include "../handle.h"

#define ALIVE		0x7768787468616e64ULL
#define BLOCK		2048	/* rows and columns, until the program chooses */
#define MOST_DEVICES	64

struct cublasXtContext {
	struct wh_handle h;
	CUdevice device;
	CUcontext ctx;		/* NULL: no device was chosen */
	cublasHandle_t blas;
	int block;
	cublasXtPinnedMemMode_t pinning;
};

static struct wh_handles handles = WH_HANDLES(struct cublasXtContext);
WH_IN_CHILD(pthread_mutex_init(&handles.lock, NULL))

static bool alive(const struct cublasXtContext *h)
{
	return h && h->h.alive == ALIVE;
}

cublasStatus_t cublasXtCreate(cublasXtHandle_t *handle)
{
	struct cublasXtContext *h;
	CUresult res;

	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	res = cuInit(0);
	if (res != CUDA_SUCCESS)
		return wh_cublas_lost(res);
	h = wh_handle_take(&handles);
	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	h->block = BLOCK;
	h->h.alive = ALIVE;
	*handle = h;
	return CUBLAS_STATUS_SUCCESS;
}

static void leave_device(struct cublasXtContext *h)
{
	if (!h->ctx)
		return;
	cublasDestroy_v2(h->blas);
	cuDevicePrimaryCtxRelease(h->device);
	h->ctx = NULL;
}

cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	leave_device(handle);
	wh_handle_put(&handles, &handle->h);
	return CUBLAS_STATUS_SUCCESS;
}

static int devices(void)
{
	int n = 0;

	return cuInit(0) == CUDA_SUCCESS && cuDeviceGetCount(&n) == CUDA_SUCCESS ? n : 0;
}

static bool known_devices(int n, const int id[])
{
	int i, all = devices();

	for (i = 0; i < n; i++)
		if (id[i] < 0 || id[i] >= all)
			return false;
	return n > 0 && n <= MOST_DEVICES;
}

/* Each device is a board of its own. */
cublasStatus_t cublasXtGetNumBoards(int nbDevices, int deviceId[], int *nbBoards)
{
	if (!deviceId || !nbBoards || !known_devices(nbDevices, deviceId))
		return CUBLAS_STATUS_INVALID_VALUE;
	*nbBoards = nbDevices;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtMaxBoards(int *nbGpuBoards)
{
	if (!nbGpuBoards)
		return CUBLAS_STATUS_INVALID_VALUE;
	*nbGpuBoards = devices();
	return CUBLAS_STATUS_SUCCESS;
}

/* The first device computes all. The results are the same. */
cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int nbDevices, int deviceId[])
{
	CUcontext before = NULL;
	cublasStatus_t res;

	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!deviceId || !known_devices(nbDevices, deviceId))
		return CUBLAS_STATUS_INVALID_VALUE;
	leave_device(handle);
	handle->device = deviceId[0];
	if (cuDevicePrimaryCtxRetain(&handle->ctx, handle->device) != CUDA_SUCCESS) {
		handle->ctx = NULL;
		return CUBLAS_STATUS_INVALID_VALUE;
	}
	cuCtxGetCurrent(&before);
	cuCtxSetCurrent(handle->ctx);
	res = cublasCreate_v2(&handle->blas);
	cuCtxSetCurrent(before);
	if (res != CUBLAS_STATUS_SUCCESS) {
		cuDevicePrimaryCtxRelease(handle->device);
		handle->ctx = NULL;
	}
	return res;
}

cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t handle, int blockDim)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (blockDim <= 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->block = blockDim;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t handle, int *blockDim)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!blockDim)
		return CUBLAS_STATUS_INVALID_VALUE;
	*blockDim = handle->block;
	return CUBLAS_STATUS_SUCCESS;
}

/* Copies are staged through pinned memory in either mode. */
cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (mode != CUBLASXT_PINNING_DISABLED && mode != CUBLASXT_PINNING_ENABLED)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->pinning = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtGetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t *mode)
{
	if (!alive(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!mode)
		return CUBLAS_STATUS_INVALID_VALUE;
	*mode = handle->pinning;
	return CUBLAS_STATUS_SUCCESS;
}

/* --- For the operations ----------------------------------------------------------------- */

cublasStatus_t wh_xt_begin(cublasXtHandle_t handle, cublasHandle_t *blas)
{
	if (!alive(handle) || !handle->ctx)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*blas = handle->blas;
	return cuCtxPushCurrent(handle->ctx) == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS :
							       CUBLAS_STATUS_INTERNAL_ERROR;
}

cublasStatus_t wh_xt_end(cublasXtHandle_t handle, cublasStatus_t status)
{
	CUcontext ours;

	(void)handle;
	if (status == CUBLAS_STATUS_SUCCESS && cuStreamSynchronize(NULL) != CUDA_SUCCESS)
		status = CUBLAS_STATUS_EXECUTION_FAILED;
	cuCtxPopCurrent(&ours);
	return status;
}

int64_t wh_xt_block(cublasXtHandle_t handle)
{
	return handle->block;
}

bool wh_xt_on_device(const void *p)
{
	CUmemorytype type = 0;

	return p && cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					  (CUdeviceptr)p) == CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_DEVICE;
}

static cublasStatus_t bring(struct wh_xt_matrix *m, size_t size)
{
	CUdeviceptr room;
	size_t bytes;

	m->at_ld = m->ld;
	if (m->rows <= 0 || m->cols <= 0)
		return CUBLAS_STATUS_SUCCESS;
	m->at = m->from;
	if (wh_xt_on_device(m->from))
		return CUBLAS_STATUS_SUCCESS;
	if (!m->from || m->ld < m->rows ||
	    __builtin_mul_overflow((size_t)m->rows * size, (size_t)m->cols, &bytes))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (cuMemAlloc(&room, bytes) != CUDA_SUCCESS)
		return CUBLAS_STATUS_ALLOC_FAILED;
	m->at = (void *)room;
	m->at_ld = m->rows;
	m->own = true;
	return m->in ? cublasSetMatrix_64(m->rows, m->cols, size, m->from, m->ld, m->at, m->at_ld) :
		       CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t wh_xt_bring(struct wh_xt_matrix **m, unsigned int n, size_t size)
{
	cublasStatus_t res = CUBLAS_STATUS_SUCCESS;
	unsigned int i;

	for (i = 0; i < n && res == CUBLAS_STATUS_SUCCESS; i++)
		res = bring(m[i], size);
	return res == CUBLAS_STATUS_SUCCESS ? res : wh_xt_take_back(m, n, size, res);
}

cublasStatus_t wh_xt_take_back(struct wh_xt_matrix **m, unsigned int n, size_t size,
			       cublasStatus_t status)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!m[i]->own)
			continue;
		if (m[i]->out && status == CUBLAS_STATUS_SUCCESS)
			status = cublasGetMatrix_64(m[i]->rows, m[i]->cols, size, m[i]->at,
						    m[i]->at_ld, m[i]->from, m[i]->ld);
		cuMemFree((CUdeviceptr)m[i]->at);
		m[i]->own = false;
	}
	return status;
}
