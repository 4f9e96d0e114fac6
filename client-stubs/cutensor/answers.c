// SPDX-License-Identifier: Apache-2.0
/*
 * cuTENSOR's answers about itself: versions (the worker's, asked for once), statuses, and kinds
 * of computation.
 */
#include "cutensor_stub.h"

#include <pthread.h>

/* --- Versions ----------------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	bool asked;
	struct wh_rsp_whCutensorInfo r;
} info = { .lock = PTHREAD_MUTEX_INITIALIZER };
WH_IN_CHILD(pthread_mutex_init(&info.lock, NULL))

static cutensorStatus_t ask(struct wh_rsp_whCutensorInfo *out)
{
	struct wh_call c;
	cutensorStatus_t res;

	if (!wh_cutensor_begin(&c, WH_CALL_whCutensorInfo, sizeof(struct wh_req_whCutensorInfo)))
		return wh_cutensor_lost(c.result);
	res = wh_cutensor_run(&c, sizeof(*out));
	if (res == CUTENSOR_STATUS_SUCCESS)
		*out = *(struct wh_rsp_whCutensorInfo *)c.rsp;
	wh_end(&c);
	return res;
}

/* Without a worker, the answers are those of the header that the library was built from. */
static struct wh_rsp_whCutensorInfo get_info(void)
{
	struct wh_rsp_whCutensorInfo r = {
		.version = CUTENSOR_VERSION, .cudart_version = CUDART_VERSION,
	};

	pthread_mutex_lock(&info.lock);
	if (!info.asked && ask(&info.r) == CUTENSOR_STATUS_SUCCESS)
		info.asked = true;
	if (info.asked)
		r = info.r;
	pthread_mutex_unlock(&info.lock);
	return r;
}

size_t cutensorGetVersion(void)
{
	return get_info().version;
}

size_t cutensorGetCudartVersion(void)
{
	return get_info().cudart_version;
}

/* --- Statuses ------------------------------------------------------------------------ */

#define NAME(status)	case CUTENSOR_STATUS_##status: return "CUTENSOR_STATUS_" #status

const char *cutensorGetErrorString(const cutensorStatus_t error)
{
	switch (error) {
	NAME(SUCCESS);
	NAME(NOT_INITIALIZED);
	NAME(ALLOC_FAILED);
	NAME(INVALID_VALUE);
	NAME(ARCH_MISMATCH);
	NAME(MAPPING_ERROR);
	NAME(EXECUTION_FAILED);
	NAME(INTERNAL_ERROR);
	NAME(NOT_SUPPORTED);
	NAME(LICENSE_ERROR);
	NAME(CUBLAS_ERROR);
	NAME(CUDA_ERROR);
	NAME(INSUFFICIENT_WORKSPACE);
	NAME(INSUFFICIENT_DRIVER);
	NAME(IO_ERROR);
	}
	return "<unknown>";
}

/* --- Kinds of computation: a program has our addresses, which stand for the worker's ---- */

struct cutensorComputeDescriptor {
	char any;
};
static struct cutensorComputeDescriptor compute[WH_CUTENSOR_COMPUTES];

#define NUMBER(name)	NUMBER_##name,
enum { WH_EACH_CUTENSOR_COMPUTE(NUMBER) };
#define DEFINE(name)	\
	const cutensorComputeDescriptor_t CUTENSOR_COMPUTE_DESC_##name = &compute[NUMBER_##name];
WH_EACH_CUTENSOR_COMPUTE(DEFINE)

bool wh_pack_cutensorComputeDescriptor_t(cutensorComputeDescriptor_t object,
					 struct wh_obj_cutensorComputeDescriptor_t *out)
{
	uintptr_t at = (uintptr_t)object - (uintptr_t)compute;

	out->number = at;
	return at < WH_CUTENSOR_COMPUTES;
}
