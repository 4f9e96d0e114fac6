// SPDX-License-Identifier: Apache-2.0
/*
 * Attributes of pointers. Host and managed memory is the client's own, so this side answers.
 * The worker is asked about a device address. Any other number is unknown, even if by chance it
 * means something in the worker.
 */
#include "stubs.h"

static CUresult ask(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	const struct wh_rsp_cuPointerGetAttribute *r;
	struct wh_req_cuPointerGetAttribute *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_cuPointerGetAttribute, sizeof(*q));
	if (!q)
		return c.result;
	q->ptr = ptr;
	q->attribute = attribute;
	res = wh_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUDA_SUCCESS && r->bytes <= sizeof(r->value))
		memcpy(data, r->value, r->bytes);
	wh_end(&c);
	if (res == CUDA_SUCCESS && attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
		res = wh_device_shown(data, *(int *)data);
	return res;
}

/* Managed memory counts as the device's, whoever has it at the moment. */
static CUresult own_number(void *data, CUpointer_attribute attribute, const struct wh_block *b)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = b->managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned int *)data = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(unsigned char *)data = b->managed;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned char *)data = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*(unsigned char *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)data = b->asked;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(uint64_t *)data = b->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(uint64_t *)data = CU_MEM_HANDLE_TYPE_NONE;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult own(void *data, CUpointer_attribute attribute, CUdeviceptr ptr,
		    const struct wh_block *b)
{
	CUdevice dev = 0;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = (CUcontext)wh_thread.ctx;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		return cuMemHostGetDevicePointer_v2(data, (void *)ptr, 0);
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(void **)data = (void *)ptr;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		cuCtxGetDevice(&dev);
		*(int *)data = dev;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)data = (uintptr_t)b->start;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = NULL;
		return CUDA_SUCCESS;
	default:
		return own_number(data, attribute, b);
	}
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct wh_block b;

	if (wh_client.state == WH_READY) {
		if (!data)
			return CUDA_ERROR_INVALID_VALUE;
		if (wh_data_block((void *)ptr, &b))
			return own(data, attribute, ptr, &b);
		if (!wh_range_has(ptr))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return ask(data, attribute, ptr);
}

/*
 * Memory that is only the program's has its own address as that of the host. All else that does
 * not apply is 0, in the width of the attribute.
 */
static CUresult clear(void *data, CUpointer_attribute a, CUdeviceptr ptr)
{
	uint32_t bytes = wh_pointer_attribute_bytes(a);

	if (!bytes)
		return CUDA_ERROR_NOT_SUPPORTED;
	memset(data, 0, bytes);
	if (a == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
		*(int *)data = CU_DEVICE_INVALID;
	else if (a == CU_POINTER_ATTRIBUTE_HOST_POINTER && !wh_range_has(ptr))
		*(void **)data = (void *)ptr;
	return CUDA_SUCCESS;
}

/* Is it an attribute that this form has an answer for, whatever the pointer is? */
static bool is_known(CUpointer_attribute a)
{
	return a >= CU_POINTER_ATTRIBUTE_CONTEXT &&
	       a <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

/* For an unknown pointer this form returns zeros and success, as CUDA documents. */
CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
				void **data, CUdeviceptr ptr)
{
	unsigned int i;
	CUresult res;

	if (!numAttributes || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < numAttributes; i++) {
		if (!is_known(attributes[i]))
			return CUDA_ERROR_INVALID_VALUE;
		res = cuPointerGetAttribute(data[i], attributes[i], ptr);
		if (res == CUDA_ERROR_INVALID_VALUE && data[i])
			res = clear(data[i], attributes[i], ptr);
		if (res != CUDA_SUCCESS)
			return res;
	}
	return CUDA_SUCCESS;
}
