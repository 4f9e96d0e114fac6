// SPDX-License-Identifier: Apache-2.0
/*
 * Host values whose size follows from a descriptor's type: alpha and beta are doubles beside
 * doubles, else floats. The call by which a descriptor was last set says its type. If another
 * call has changed the descriptor since, the library is asked once.
 */
#include "cudnn_stub.h"
#include "../kept_object.h"

/* Returns the offset of the type in a call that sets a tensor or filter; 0: the call sets none. */
static size_t type_at(uint32_t call)
{
#define SETS(name)	case WH_CALL_##name: return offsetof(struct wh_req_##name, dataType)
	switch (call) {
	SETS(cudnnSetTensor4dDescriptor);
	SETS(cudnnSetTensor4dDescriptorEx);
	SETS(cudnnSetTensorNdDescriptor);
	SETS(cudnnSetTensorNdDescriptorEx);
	SETS(cudnnSetFilter4dDescriptor);
	SETS(cudnnSetFilterNdDescriptor);
	}
#undef SETS
	return 0;
}

static bool was_set(const struct wh_kept *k, cudnnDataType_t *type)
{
	const struct wh_record *r = wh_log_last(&k->log);
	const size_t at = r && !k->altered ? type_at(r->call) : 0;

	if (at)
		memcpy(type, wh_record_request(r) + at, sizeof(*type));
	return at;
}

/* False: the library has to be asked. The call itself refuses what is no descriptor. */
static bool known(const void *desc, cudnnDataType_t *type)
{
	struct wh_kept *k = wh_kept_find((uintptr_t)desc);
	const uint32_t note = k ? __atomic_load_n(&k->note, __ATOMIC_RELAXED) : 0;

	if (note)
		*type = (cudnnDataType_t)(note - 1);
	return !k || note || was_set(k, type);
}

static void keep(const void *desc, cudnnDataType_t type)
{
	struct wh_kept *k = wh_kept_find((uintptr_t)desc);

	if (k)
		__atomic_store_n(&k->note, (uint32_t)type + 1, __ATOMIC_RELAXED);
}

cudnnDataType_t wh_cudnn_tensor_type(cudnnTensorDescriptor_t desc)
{
	int dim[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX], dims;
	cudnnDataType_t type = CUDNN_DATA_FLOAT;

	if (!known(desc, &type) &&
	    cudnnGetTensorNdDescriptor(desc, CUDNN_DIM_MAX, &type, &dims, dim, stride) ==
	    CUDNN_STATUS_SUCCESS)
		keep(desc, type);
	return type;
}

cudnnDataType_t wh_cudnn_filter_type(cudnnFilterDescriptor_t desc)
{
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	int dim[CUDNN_DIM_MAX], dims;
	cudnnTensorFormat_t format;

	if (!known(desc, &type) &&
	    cudnnGetFilterNdDescriptor(desc, CUDNN_DIM_MAX, &type, &format, &dims, dim) ==
	    CUDNN_STATUS_SUCCESS)
		keep(desc, type);
	return type;
}

wh_cudnn_scale_t wh_cudnn_copy_scale(const void *p, cudnnDataType_t type)
{
	wh_cudnn_scale_t v = 0;

	if (p)
		memcpy(&v, p, type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_COMPLEX_FP64 ?
		       sizeof(double) : sizeof(float));
	return v;
}

wh_cudnn_element_t wh_cudnn_copy_element(const void *p, cudnnDataType_t type)
{
	wh_cudnn_element_t v = { { 0 } };

	if (p)
		memcpy(&v, p, wh_cudnn_size(type));
	return v;
}
